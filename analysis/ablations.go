package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// Replacement says what replaces an ablated activation.
type Replacement string

// The replacements. Zero removes everything that an activation says, including its average, on
// which later layers may rely; the mean keeps the average; the values from another row remove only
// what is specific to this row.
const (
	ReplaceZero     Replacement = "zero"     // 0; the default, also meant by ""
	ReplaceMean     Replacement = "mean"     // its mean over the tokens of all rows (Wang et al. 2022, arXiv 2211.00593)
	ReplaceResample Replacement = "resample" // its values in the next row, token by token (Chan et al. 2022, causal scrubbing)
)

// Ablations replaces activations of a model that runs on rows of tokens. Each measurement uses
// one of the rows.
type Ablations struct {
	store *graph.Store
	c     models.Spec
	rows  [][]int32
	with  Replacement
	names []string
	runs  []*cache.Cache              // the run on each row; nil for ReplaceZero
	means map[string]cache.Activation // by activation name: the mean over all tokens, in the shape of one token
}

// NewAblations prepares ablations of the activations that patterns match; without patterns, of
// the heads' outputs. It returns an error if the rows lack what the replacement takes from
// them.
func NewAblations(ctx context.Context, store *graph.Store, spec models.Spec, rows [][]int32, patterns []string, with Replacement) (*Ablations, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	with = cmp.Or(with, ReplaceZero)
	a := &Ablations{store: store, c: spec, rows: rows, with: with, names: patterns, means: map[string]cache.Activation{}}
	if len(patterns) == 0 {
		a.names = headActivations(spec)
	}
	if err := a.check(); err != nil || with == ReplaceZero {
		return a, err
	}
	for _, ids := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		run, err := cache.Once(store, spec, ids, a.names...)
		if err != nil {
			return nil, err
		}
		a.runs = append(a.runs, run)
	}
	if with == ReplaceMean {
		return a, a.average()
	}
	return a, nil
}

func (a *Ablations) check() error {
	if len(a.rows) == 0 {
		return check.NoPrompt()
	}
	switch a.with {
	case ReplaceZero, ReplaceMean:
		return nil
	case ReplaceResample:
		if len(a.rows) < 2 {
			return check.Value("with resample", "at least 2 rows of text, of which one lends its values to another", len(a.rows))
		}
		for _, ids := range a.rows {
			if len(ids) != len(a.rows[0]) {
				return check.Value("with resample", "rows of as many tokens", fmt.Sprintf("rows of %d and %d", len(a.rows[0]), len(ids)))
			}
		}
		return nil
	}
	return check.Valuef("with", strconv.Quote(string(a.with)), "%s, %s or %s", ReplaceZero, ReplaceMean, ReplaceResample)
}

// average computes the means over the tokens of all rows.
func (a *Ablations) average() error {
	for _, name := range a.runs[0].Names() {
		tokens := 0
		var sum cache.Activation
		for i, run := range a.runs {
			x, _ := run.Get(name) // which all runs keep
			if x.Axes[0] != graph.TokenAxis {
				return check.Value("with mean: "+name, "an activation of each token", fmt.Sprintf("one of axes %v", x.Axes))
			}
			n := len(x.Values) / x.Shape[0]
			if i == 0 {
				sum = cache.Activation{Name: name, Axes: x.Axes, Shape: append([]int{1}, x.Shape[1:]...), Values: make([]float64, n)}
			}
			if n != len(sum.Values) {
				return check.Value("with mean: "+name, "an activation of one size in all rows",
					fmt.Sprintf("%d and %d entries a token: give rows of as many tokens", len(sum.Values), n))
			}
			for token := range slices.Chunk(x.Values, n) {
				floats.Add(sum.Values, token)
			}
			tokens += x.Shape[0]
		}
		floats.Scale(1/float64(tokens), sum.Values)
		a.means[name] = sum
	}
	return nil
}

// instead returns the intervention that replaces entries in a row.
func (a *Ablations) instead(row int, name string, at cache.At) cache.Intervention {
	switch a.with {
	case ReplaceMean:
		mean := a.means[name]
		tokens := len(a.rows[row])
		return cache.Change(name, at, func([]float64) ([]float64, error) {
			all := cache.Activation{Name: name, Axes: mean.Axes, Shape: append([]int{tokens}, mean.Shape[1:]...), Values: slices.Repeat(mean.Values, tokens)}
			return all.Select(at)
		})
	case ReplaceResample:
		return cache.Patch(name, at, a.runs[(row+1)%len(a.runs)])
	}
	return cache.Ablate(name, at)
}

// title describes what is ablated, and how.
func (a *Ablations) title() string {
	return map[Replacement]string{ReplaceZero: "Zero ablation", ReplaceMean: "Mean ablation", ReplaceResample: "Resample ablation"}[a.with]
}

// Heads replaces the output of one head after another in one row of text, at all tokens. The
// result has a row for each layer and a column for each head.
func (a *Ablations) Heads(ctx context.Context, row int, m Metric) (*Sweep, error) {
	ids, err := a.row(row)
	if err != nil {
		return nil, err
	}
	s := newSweep(a.title()+" of heads", "layer", stream.HeadPart, a.c.HeadCount(), m)
	return s, s.runModel(ctx, a.store, a.c, ids, headActivations(a.c), func(name string, column int) cache.Intervention {
		return a.instead(row, name, cache.At{stream.HeadPart: column})
	})
}

// Writers sets to 0, for one writer after another, what the writer writes in one row of text: at
// one token or, in the last column, at all tokens. The result has a row for each writer and a
// column for each token.
func (a *Ablations) Writers(ctx context.Context, row int, m Metric) (*Sweep, error) {
	ids, err := a.row(row)
	if err != nil {
		return nil, err
	}
	sketch, err := cache.Sketch(a.store, a.c)
	if err != nil {
		return nil, err
	}
	var names []string // in the order in which the graph computes them
	for _, name := range sketch.Builder().ActivationNames() {
		if slices.ContainsFunc(sketch.Writers(), func(w stream.Writer) bool { return w.Activation == name }) {
			names = append(names, name)
		}
	}
	s := newSweep("Zero ablation of what is written", "writer", graph.TokenAxis, len(ids), m)
	s.Columns = append(s.Columns, allTokens)
	return s, s.runModel(ctx, a.store, a.c, ids, names, func(name string, column int) cache.Intervention {
		if column == len(ids) {
			return cache.Ablate(name, nil)
		}
		return cache.Ablate(name, cache.At{graph.TokenAxis: column})
	})
}

// allTokens is the label of the column that ablates at all tokens.
const allTokens = "all"

// row returns the tokens of one row.
func (a *Ablations) row(row int) ([]int32, error) {
	if err := check.Index("row", row, len(a.rows)); err != nil {
		return nil, err
	}
	return a.rows[row], nil
}

// headActivations returns the names of the activations that hold the heads' outputs, one for
// each layer.
func headActivations(spec models.Spec) []string {
	var names []string
	for l := range spec.Depth() {
		names = append(names, siteName(l, stream.Attention)+headsSuffix)
	}
	return names
}

// headsSuffix ends the names of heads' outputs, after the names of their attentions.
const headsSuffix = ".heads"

// Restored replaces all heads' outputs in one row of text and restores one head at a time (patching
// from the row's own run): Effect = metric with that head alone - Baseline, the metric without any
// head. It has one row for each layer, one column for each head.
func (a *Ablations) Restored(ctx context.Context, row int, m Metric) (*Sweep, error) {
	ids, err := a.row(row)
	if err != nil {
		return nil, err
	}
	s, names := newSweep(a.title()+" of all heads but one", "layer", stream.HeadPart, a.c.HeadCount(), m), headActivations(a.c)
	if err := s.open(a.store, a.c, ids, names, 1); err != nil {
		return nil, err
	}
	defer s.close()
	lists := [][]cache.Intervention{a.allBut(row, "", 0)}
	for _, name := range names {
		for h := range s.Columns {
			lists = append(lists, a.allBut(row, name, h))
		}
	}
	return s, s.measure(ctx, ids, names, lists)
}

// allBut returns interventions that replace all heads except one head of one activation in a row;
// with no activation they replace all heads.
func (a *Ablations) allBut(row int, activation string, head int) []cache.Intervention {
	var all []cache.Intervention
	for _, name := range headActivations(a.c) {
		for h := range a.c.HeadCount() {
			if name != activation || h != head {
				all = append(all, a.instead(row, name, cache.At{stream.HeadPart: h}))
			}
		}
	}
	return all
}

// Together replaces chosen entries of all named activations in one row, and measures only that run.
// It returns an error if one of the activations lacks an axis or index of at.
func (a *Ablations) Together(ctx context.Context, row int, at cache.At, m Metric) (*Sweep, error) {
	ids, err := a.row(row)
	if err != nil {
		return nil, err
	}
	s := newSweep(a.title(), "what", "", 0, m)
	if err := s.open(a.store, a.c, ids, a.names, 1); err != nil {
		return nil, err
	}
	defer s.close()
	var all []cache.Intervention
	for _, name := range s.runner.Names() {
		all = append(all, a.instead(row, name, at))
	}
	s.Columns = []string{"effect"}
	return s, s.measure(ctx, ids, []string{fmt.Sprintf("%d activations", len(all))}, [][]cache.Intervention{nil, all})
}
