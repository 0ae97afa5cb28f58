package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// BasisReport says whether the basis in which a stream's entries are stored is privileged: whether
// the entries are distributed differently along its directions than along the directions of a
// rotated basis (Elhage, Lasenby & Olah 2023, "Privileged Bases in the Transformer Residual
// Stream"). In a stream without a privileged basis the stream's own measures and the rotated ones
// agree.
type BasisReport struct {
	Stream   string       `json:"stream"`
	Tokens   int          `json:"tokens"`
	Controls int          `json:"controls"` // rotations
	Points   []BasisPoint `json:"points"`   // all sites of a space, then the next space
}

// BasisPoint holds the measures of one space of the stream at one site, over samples that are
// vectors with one entry for each direction of the space: the rows of the stream at all tokens;
// for a matrix stream [Dk, Dv] its columns (space key), its rows (space value), or the whole
// matrix as one vector (space both).
type BasisPoint struct {
	Site    string `json:"site"` // the activation, "blocks.3.attention.stream"
	Space   string `json:"space"`
	Samples int    `json:"samples"`
	// Kurtosis and Size hold, for each direction, the kurtosis m4/m2^2 and the root mean square of
	// its entries over the samples.
	Kurtosis []float64 `json:"kurtosis"`
	Size     []float64 `json:"size"`
	Peak     int       `json:"peak"`    // the direction of the largest kurtosis
	Largest  int       `json:"largest"` // the direction of the largest size

	MeanKurtosis Controlled `json:"mean_kurtosis"` // mean of Kurtosis
	MaxKurtosis  Controlled `json:"max_kurtosis"`  // largest of Kurtosis
	// Across is the mean, over the samples, of the kurtosis of a sample's entries: large where
	// few directions hold most of a vector.
	Across  Controlled `json:"across"`
	MaxMean Controlled `json:"max_mean"` // largest of Size over its mean
}

// words says whether the point's mean kurtosis, and the kurtosis across vectors, differ from the
// controls by more than three of their deviations. A mean kurtosis below the controls' does not
// show that the basis is like any other: a few vectors that are much larger than the others, and
// large in few directions, raise the kurtosis of only those directions, but after a rotation they
// raise it in all.
func (p BasisPoint) words() string {
	own, across := p.MeanKurtosis.compare(), p.Across.compare()
	switch {
	case own > 0:
		return "heavier tails than rotated"
	case own < 0 && across > 0:
		return "below rotated: few directions hold the outliers"
	case own < 0:
		return "below rotated: flatter"
	case across > 0:
		return "few directions hold more than rotated"
	}
	return "like rotated"
}

// Controlled is a measure and, for comparison, the same measure of the samples rotated by random
// orthogonal matrices.
type Controlled struct {
	Own       float64 `json:"own"`
	Rotated   float64 `json:"rotated"`   // mean over the controls
	Deviation float64 `json:"deviation"` // standard deviation over the controls, 0 of one
}

// compare returns 1 if the measure is more than three deviations above the controls' mean, -1 if it
// is more than three below, and otherwise, or if there is no deviation, 0.
func (c Controlled) compare() int {
	switch far := 3 * c.Deviation; {
	case far == 0:
		return 0
	case c.Own > c.Rotated+far:
		return 1
	case c.Own < c.Rotated-far:
		return -1
	}
	return 0
}

// BasisOptions say how a basis is measured.
type BasisOptions struct {
	Controls int    `yaml:"controls" default:"8" min:"1" max:"1000000" help:"compare with <N> random rotations"` // 0: 8
	Seed     uint64 `yaml:"seed" default:"1" help:"seed the rotations with <N>"`
	// Seq is the number of tokens in a row, which only MeasureBasis uses; 0: all tokens, but no
	// more than the model's seq.
	Seq int
}

// MeasureBasis runs a model on token ids, in rows of Seq, and measures its stream after the
// embedding and after every sublayer. It leaves out a last row that is not full. Every stream
// has this analysis.
func MeasureBasis(ctx context.Context, store *graph.Store, spec models.Spec, ids []int32, o BasisOptions) (*BasisReport, error) {
	if o.Seq < 0 {
		return nil, check.Value("seq", "at least 1, or 0 for all", o.Seq)
	}
	seq := cmp.Or(o.Seq, min(len(ids), spec.Seq))
	if seq < 1 || len(ids) < seq {
		return nil, check.Valuef("ids", len(ids), "at least one row of %d", max(1, seq))
	}
	known, err := cache.Names(store, spec)
	if err != nil {
		return nil, err
	}
	r, err := cache.New(store, spec, cache.Options{Names: streamNames(known), Batch: len(ids) / seq, Seq: seq})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	run, err := r.Run(ids[:len(ids)/seq*seq])
	if err != nil {
		return nil, err
	}
	return basisOf(ctx, run, o)
}

// streamNames returns the names of the activations that are the stream itself: after the
// embedding, after each sublayer, and aggregates.
func streamNames(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.Contains([]string{"stream", "aggregate"}, lastPart(name)) && name != "embedding.out"
	})
}

// basisOf measures the streams that a run has kept (see streamNames). The rotations of the
// controls are drawn uniformly from the orthogonal group and are the same at all sites. To rotate
// a matrix stream in both spaces, it is multiplied by one orthogonal matrix on each side.
func basisOf(ctx context.Context, run *cache.Cache, o BasisOptions) (*BasisReport, error) {
	names := streamNames(run.Names())
	switch {
	case len(names) == 0:
		return nil, check.Value("run", "one that kept embedding.out or blocks.*.*.stream", "one without")
	case run.Tokens() < 2:
		return nil, check.Value("ids", "at least 2", run.Tokens())
	case o.Controls < 0:
		return nil, check.Value("controls", "at least 1, or 0 for 8", o.Controls)
	}
	o.Controls = cmp.Or(o.Controls, 8)
	c := run.Model().Spec()
	report := &BasisReport{Stream: c.Stream.Name(), Tokens: run.Tokens(), Controls: o.Controls}
	var streams []cache.Activation
	for _, name := range names {
		a, _ := run.Get(name) // one of the run's names
		if err := checkFinite(name, a.Values); err != nil {
			return nil, err
		}
		streams = append(streams, a)
	}
	for _, space := range spacesOf(c) {
		points, err := (&basisControls{c, space, o}).measure(ctx, streams)
		if err != nil {
			return nil, err
		}
		report.Points = append(report.Points, points...)
	}
	return report, nil
}

// siteLabel turns the name of a stream's activation into the name of the site before it,
// "blocks.0.attention".
func siteLabel(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".stream"), ".out")
}

// Table has a row for each site and space, with each measure and the controls' mean +-
// deviation.
func (r *BasisReport) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("Basis of the %s stream (%d tokens) compared with %d rotations", r.Stream, r.Tokens, r.Controls), "llrrrrrrrrrrl",
		"site", "space", "kurtosis", "rotated", "largest", "rotated", "direction",
		"across", "rotated", "max/mean size", "rotated", "direction", "own basis")
	t.Note = "kurtosis: how heavy the tails are of a direction's entries over the tokens; 3 is a Gaussian's. It is the\n" +
		"mean over the directions, largest that of one direction (its number follows). across: the kurtosis of a\n" +
		"token's entries, large where few directions hold most of a vector. max/mean size: the largest direction's\n" +
		"size over the mean one's. rotated: the same along the axes of random rotations, mean ± standard deviation.\n" +
		"own basis: what differs by more than three of these."
	for _, p := range r.Points {
		row := []string{siteLabel(p.Site), p.Space}
		row = append(append(row, p.MeanKurtosis.cells()...), p.MaxKurtosis.cells()...)
		row = append(append(row, fmt.Sprint(p.Peak)), p.Across.cells()...)
		row = append(append(row, p.MaxMean.cells()...), fmt.Sprint(p.Largest), p.words())
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (c Controlled) cells() []string {
	return []string{fmt.Sprintf("%.3g", c.Own), fmt.Sprintf("%.3g ± %.2g", c.Rotated, c.Deviation)}
}

// Figures returns, for each space, the measures by site next to their controls, and maps of
// each direction's kurtosis and size.
func (r *BasisReport) Figures() []figure.Figure {
	var figures []figure.Figure
	for _, space := range r.spaces() {
		for _, m := range []struct {
			what string
			of   func(BasisPoint) Controlled
		}{
			{"Kurtosis of a direction's entries, mean", func(p BasisPoint) Controlled { return p.MeanKurtosis }},
			{"Kurtosis across a vector's entries, mean", func(p BasisPoint) Controlled { return p.Across }},
			{"Largest direction's size over the mean", func(p BasisPoint) Controlled { return p.MaxMean }},
		} {
			figures = append(figures, r.lines(space, m.what, m.of))
		}
		figures = append(figures,
			r.directions(space, "Kurtosis", func(p BasisPoint) []float64 { return p.Kurtosis }),
			r.directions(space, "Size (root mean square)", func(p BasisPoint) []float64 { return p.Size }))
	}
	return figures
}

// spaces lists the report's spaces, in order.
func (r *BasisReport) spaces() []string {
	var all []string
	for _, p := range r.Points {
		if len(all) == 0 || all[len(all)-1] != p.Space {
			all = append(all, p.Space)
		}
	}
	return all
}

// lines plots a measure by site, next to its controls.
func (r *BasisReport) lines(space, what string, of func(BasisPoint) Controlled) figure.Lines {
	l := figure.NewLines(r.heading(what, space), "the stream after", what, "own basis", "rotated")
	for _, p := range r.Points {
		if p.Space != space {
			continue
		}
		m := of(p)
		l.AddNamed(siteLabel(p.Site), m.Own, m.Rotated)
		l.Series[1].Error = append(l.Series[1].Error, m.Deviation)
	}
	return l
}

// directions returns a heatmap of a value: a row for each site, a column for each direction.
func (r *BasisReport) directions(space, what string, of func(BasisPoint) []float64) figure.Heatmap {
	h := figure.Heatmap{Title: r.heading(what+" of each direction", space), XLabel: "direction", YLabel: "site"}
	for _, p := range r.Points {
		if p.Space == space {
			h.Add(siteLabel(p.Site), of(p))
		}
	}
	return h
}

func (r *BasisReport) heading(what, space string) string {
	if space == SpaceStream {
		return what
	}
	return fmt.Sprintf("%s (space %s)", what, space)
}
