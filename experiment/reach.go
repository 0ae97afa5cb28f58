package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// Reach reports what each series needs to reach a loss: tokens, FLOPs, time and memory (Mak and
// Flanigan 2025, tables 3 and 4).
type Reach struct {
	Plain
	Target      float64 `yaml:"target" min:"0" default:"the last loss of the first series, seed by seed" help:"validation loss to reach, nats a token; 0: default"`
	Evaluations int     `yaml:"evaluations" min:"2" max:"10000" help:"evaluations of a run, evenly spaced, between which the moment is interpolated"`
}

// Name returns "reach".
func (Reach) Name() string { return "reach" }

func (s Reach) TimesEvaluated() int { return s.Evaluations }

// target returns the loss that a run of a seed is to reach, NaN if it is unknown.
func (s Reach) target(r *Results, seed uint64) float64 {
	if s.Target > 0 {
		return s.Target
	}
	for _, c := range r.of(r.plan.series[0].Name) {
		for _, run := range c.runs {
			if run.Seed == seed {
				return float64(run.Loss)
			}
		}
	}
	return math.NaN()
}

// title returns the report's title, which names the loss to reach, the name of its line in the
// picture, and the line's height, the mean of the loss over seeds.
func (s Reach) title(r *Results) (title, line string, height float64) {
	if s.Target > 0 {
		return fmt.Sprintf("To the loss %.4f", s.Target), fmt.Sprintf("loss %.4g", s.Target), s.Target
	}
	first := r.plan.series[0].Name
	for _, c := range r.of(first) {
		height = c.loss()
	}
	return fmt.Sprintf("To the last loss of %s with the same seed, %.4f on average", first, height), first + "'s last loss", height
}

func (s Reach) Report(r *Results) Report {
	title, line, height := s.title(r)
	needs := figure.NewTable(title+": means over the seeds that reach it, ± standard errors; in brackets the share of the first series', seed by seed", "lrrrrrr",
		"", "reached by", "parameters (M)", "tokens (M)", "TFLOP", "seconds", "planned memory (MB)")
	panels := figure.Panels{Across: 2, OwnAxes: true}
	chart := [2]figure.Lines{{XLabel: "million tokens"}, {XLabel: "TFLOP of training"}}
	var first *moments // nil: the first series has no runs yet
	for at, series := range r.plan.series {
		for _, c := range r.of(series.Name) {
			reached := c.reach(func(seed uint64) float64 { return s.target(r, seed) })
			if at == 0 {
				first = &reached
			}
			row := []string{c.Name(), fmt.Sprintf("%d of %d", len(reached.seeds), len(c.runs))}
			for i, values := range reached.needs {
				text := estimate(values, "%.4g")
				if first != nil {
					text += share(reached.of(i, *first))
				}
				row = append(row, text)
			}
			needs.Rows = append(needs.Rows, row)
			tokens := c.curve()
			flops := figure.Series{Name: tokens.Name, Y: tokens.Y, Error: tokens.Error}
			for _, x := range tokens.X {
				flops.X = append(flops.X, x*float64(c.runs[0].FLOPs)/1e6)
			}
			chart[0].Series, chart[1].Series = append(chart[0].Series, tokens), append(chart[1].Series, flops)
		}
	}
	for i := range chart {
		chart[i].YLabel = "validation loss (nats a token)"
		chart[i].Series = append(chart[i].Series, level(line, chart[i].Series, height))
		panels.Charts = append(panels.Charts, chart[i])
	}
	note := "The moment lies between two evaluations, at the same share of the way in tokens as in loss. The rate's schedule ends with the run and not " +
		"at that moment: a run as long as the moment would end lower."
	return Report{Tables: []figure.Table{needs, r.Table("Runs to their end: means over seeds, ± standard errors")}, Picture: panels, Notes: []string{note}}
}

// moments holds what runs need to reach a loss: parameters in millions, tokens in millions, TFLOP,
// seconds and planned megabytes. Parameters and memory are the same for all runs.
type moments struct {
	seeds []uint64
	needs [5][]float64 // [quantity][seed]; for parameters and memory [quantity][1]
}

// reach returns what the runs of a cell need to reach a loss, without the runs that never reach it.
func (c Result) reach(targetOf func(seed uint64) float64) moments {
	var m moments
	m.needs[0], m.needs[4] = []float64{float64(c.runs[0].Parameters) / 1e6}, []float64{float64(c.runs[0].Memory) / 1e6}
	for _, r := range c.runs {
		before, target := Evaluation{}, targetOf(r.Seed)
		for _, e := range r.Evaluations {
			if float64(e.Loss) <= target {
				share := 1.0
				if before.Tokens > 0 {
					share = (float64(before.Loss) - target) / float64(before.Loss-e.Loss)
				}
				tokens := float64(before.Tokens) + share*float64(e.Tokens-before.Tokens)
				m.seeds = append(m.seeds, r.Seed)
				for i, v := range []float64{tokens / 1e6, tokens * float64(r.FLOPs) / 1e12, before.Seconds + share*(e.Seconds-before.Seconds)} {
					m.needs[i+1] = append(m.needs[i+1], v)
				}
				break
			}
			before = e
		}
	}
	return m
}

// of returns a need divided by that of another series, seed by seed. For a need that is the
// same for all runs it returns a single ratio.
func (m moments) of(need int, other moments) []float64 {
	if need == 0 || need == len(m.needs)-1 {
		return []float64{m.needs[need][0] / other.needs[need][0]}
	}
	var shares []float64
	for i, seed := range m.seeds {
		if at := slices.Index(other.seeds, seed); at >= 0 {
			shares = append(shares, m.needs[need][i]/other.needs[need][at])
		}
	}
	return shares
}

// share formats the mean of shares in percent, with its standard error if it has one; it returns ""
// if all are 1.
func share(of []float64) string {
	percent := make([]float64, len(of))
	for i, v := range of {
		percent[i] = 100 * v
	}
	e := stats.Mean(percent)
	if math.IsNaN(e.Mean) || math.IsInf(e.Mean, 0) || e.Mean == 100 && !(e.Error > 0) {
		return ""
	}
	return " (" + plusMinus(e, "%.0f%%") + ")"
}

// curve returns the losses during training over millions of tokens: their means over seeds,
// with standard errors.
func (c Result) curve() figure.Series {
	s := figure.Series{Name: c.Name(), Marks: true}
	for i, e := range c.runs[0].Evaluations {
		var losses []float64
		for _, r := range c.runs {
			if i < len(r.Evaluations) && r.Evaluations[i].Loss.Finite() {
				losses = append(losses, float64(r.Evaluations[i].Loss))
			}
		}
		m := stats.Mean(losses)
		s.Add(float64(e.Tokens)/1e6, m.Mean, m.Error)
	}
	return s
}

// level returns a named horizontal line across the range of other lines.
func level(name string, lines []figure.Series, y float64) figure.Series {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, x := range l.X {
			low, high = min(low, x), max(high, x)
		}
	}
	return figure.Series{Name: name, X: []float64{low, high}, Y: []float64{y, y}}
}
