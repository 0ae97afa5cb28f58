package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/residua-go/residua/figure"
)

// Search trains each series at random values of several keys, drawn log-uniformly, as the RMT paper
// (appendix C.2.1) searches for the multipliers of muP on small models. All series get the same
// draws.
type Search struct {
	Draws  int                  `yaml:"draws" min:"1" max:"100000" help:"how many values of each key are drawn"`
	Seed   uint64               `yaml:"seed" help:"seed of the draws"`
	Ranges map[string][]float64 `yaml:"ranges" default:"required" help:"the keys that are drawn, each with its interval, as in {train.lr: [1e-3, 1e-1]}"`
}

// Name returns "search".
func (Search) Name() string { return "search" }

func (s Search) Check(c *Config) error {
	if len(s.Ranges) == 0 {
		return c.where.Errorf("experiment.ranges", "want keys of the run config with intervals, as in {train.lr: [1e-3, 1e-1]}, got none")
	}
	for _, key := range s.keys() {
		if r := s.Ranges[key]; len(r) != 2 || !(r[0] > 0) || !(r[1] > r[0]) {
			return c.where.Errorf(s.place(key), "want the ends of an interval, 0 < low < high, as in [1e-3, 1e-1], got %v", r)
		}
	}
	return nil
}

// keys lists the keys to draw, in alphabetical order.
func (s Search) keys() []string { return slices.Sorted(maps.Keys(s.Ranges)) }

// place returns the key of the experiment's config under which the interval of a key is given.
func (s Search) place(key string) string {
	if strings.Contains(key, ".") {
		key = strconv.Quote(key)
	}
	return "experiment.ranges." + key
}

// drawn returns the values of draw i by key, with three digits.
func (s Search) drawn(i int) map[string]float64 {
	draw := rand.New(rand.NewPCG(s.Seed, uint64(i)))
	values := map[string]float64{}
	for _, key := range s.keys() {
		low, high := s.Ranges[key][0], s.Ranges[key][1]
		value := low * math.Pow(high/low, draw.Float64())
		values[key], _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 3, 64), 64)
	}
	return values
}

func (s Search) Points(Source) ([]Point, error) {
	var all []Point
	for i := range s.Draws {
		p := Point{Label: fmt.Sprint("draw", i+1), Values: s.drawn(i), Key: "experiment.draws"}
		for _, key := range s.keys() {
			p.Set = append(p.Set, Assignment{fmt.Sprintf("%s=%g", key, p.Values[key]), s.place(key)})
		}
		all = append(all, p)
	}
	return all, nil
}

// shownDraws is how many draws of a series the table shows.
const shownDraws = 5

func (s Search) Report(r *Results) (out Report) {
	best := figure.NewTable(fmt.Sprintf("The %d best draws of each series; means over seeds, ± standard errors", shownDraws),
		"llr"+strings.Repeat("r", len(s.Ranges)), append([]string{"series", "draw", "loss (nats)"}, s.keys()...)...)
	panels := figure.Panels{Across: 2, OwnAxes: true}
	for _, key := range s.keys() {
		panels.Charts = append(panels.Charts, figure.Lines{XLabel: key, YLabel: "validation loss (nats a token)", LogX: true})
	}
	for _, series := range r.plan.series {
		cells := slices.DeleteFunc(r.of(series.Name), func(c Result) bool { return len(c.losses()) == 0 })
		for i, key := range s.keys() {
			panels.Charts[i].Series = append(panels.Charts[i].Series, r.line(series.Name, func(c Result) float64 { return c.point.Values[key] }))
		}
		slices.SortStableFunc(cells, func(a, b Result) int { return cmp.Compare(a.loss(), b.loss()) })
		for _, c := range cells[:min(shownDraws, len(cells))] {
			row := []string{series.Name, strings.TrimPrefix(c.point.Label, "draw"), estimate(c.losses(), "%.4f")}
			for _, key := range s.keys() {
				row = append(row, fmt.Sprintf("%g", c.point.Values[key]))
			}
			best.Rows = append(best.Rows, row)
		}
		if lost := len(r.of(series.Name)) - len(cells); lost > 0 {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %d of %d draws diverged.", series.Name, lost, len(r.of(series.Name))))
		}
	}
	out.Tables, out.Picture = []figure.Table{best}, panels
	return out
}
