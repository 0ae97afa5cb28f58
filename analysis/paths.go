package analysis

import (
	"context"
	"fmt"
	"math"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// PathExpansion measures how much of a model's loss the paths through its sublayers remove, by the
// number of sublayers that they go through: Elhage et al. 2021, "Two-Layer Attention-Only
// Transformers", term importance analysis. With all attention patterns held as in the model's own
// run,
//
//	order 0: each sublayer's output is 0, which leaves the direct path, embedding to unembedding
//	order n: each sublayer's output is what it was, before it was replaced, in the run of order n-1
//
// so that the run of order n has all paths of at most n steps, where a step is a head or a
// feed-forward. The run whose order is the number of sublayers is the model's own. In a model of
// attention alone the steps are linear except for the norms, which use their scale in each run; a
// feed-forward is not linear in the sum of several paths, and counts as one step. What a stream
// computes besides its sublayers (mixing coefficients, cells) is part of every path.
type PathExpansion struct {
	Rows   int               `json:"rows"`   // of text
	Tokens int               `json:"tokens"` // whose successors are predicted
	Model  numerics.Estimate `json:"model"`  // loss, in nats
	Orders []PathOrder       `json:"orders"` // from 0
	Steps  []PathStep        `json:"steps"`  // the paths of one step, by their sublayer
	// Heads holds the paths of one step through each head, and Pairs the paths through two heads,
	// called virtual heads; nil: not asked for.
	Heads []HeadPath `json:"heads,omitempty"`
	Pairs []HeadPath `json:"pairs,omitempty"`
}

// PathOrder says what the paths of exactly Steps steps add.
type PathOrder struct {
	Steps int               `json:"steps"`
	Paths float64           `json:"paths"` // how many there are, a feed-forward being one step
	Loss  numerics.Estimate `json:"loss"`  // with all paths of at most Steps steps
	Gain  numerics.Estimate `json:"gain"`  // the loss of the order before minus Loss
	Share float64           `json:"share"` // of what all orders gain together
}

// PathStep says how much the paths of one step through one sublayer contribute.
type PathStep struct {
	Site  string            `json:"site"`
	Alone numerics.Estimate `json:"alone"` // how much they take off the loss of the direct path
	Last  numerics.Estimate `json:"last"`  // how much they take off the loss of the direct path and all other paths of one step
}

// HeadPath is a path through one head, or through two: how much it takes off the loss of all
// shorter paths.
type HeadPath struct {
	First  string            `json:"first"`            // "blocks.0.attention.3"
	Second string            `json:"second,omitempty"` // "": none
	Gain   numerics.Estimate `json:"gain"`
}

// PathOptions say what MeasurePaths measures in addition.
type PathOptions struct {
	// Heads measures each head's path of one step, and each virtual head: heads + pairs of heads of
	// different layers runs a row.
	Heads bool `yaml:"heads" help:"also measure each head's path, and each virtual head of two, by a run for each"`
}

// MeasurePaths measures, on rows of tokens, how much of a model's loss the paths through its
// sublayers remove. Every stream has this analysis.
func MeasurePaths(ctx context.Context, store *graph.Store, spec models.Spec, rows [][]int32, o PathOptions) (*PathExpansion, error) {
	if len(rows) == 0 {
		return nil, check.NoPrompt()
	}
	sites, err := pathSites(store, spec)
	if err != nil {
		return nil, err
	}
	all := &pathValues{sites: sites, heads: o.Heads, values: map[string][]float64{}}
	for i, ids := range rows {
		if len(ids) < 2 {
			return nil, check.Value(fmt.Sprintf("row %d", i), "at least 2 tokens, so that one has a successor", len(ids))
		}
		r, err := newPathRow(ctx, store, spec, ids, sites)
		if err != nil {
			return nil, err
		}
		all.add(r)
		r.runner.Close()
		if r.err != nil {
			return nil, r.err
		}
	}
	return all.expansion(rows), nil
}

// pathSite is a sublayer as steps of paths: output is the activation that it hands to its
// write.
type pathSite struct {
	site, output string
	attends      bool
	heads        int // number of heads, each a step; 1 for a feed-forward
	size         int // entries of one head's output for a token, or of a feed-forward's
}

// pathSites returns a model's path sites in the order of the run.
func pathSites(store *graph.Store, spec models.Spec) ([]pathSite, error) {
	m, err := cache.Sketch(store, spec)
	if err != nil {
		return nil, err
	}
	var sites []pathSite
	for l := range spec.Depth() {
		for _, at := range m.Stream().Sites(l) {
			s := pathSite{site: at.Name(), output: at.Name() + ".out", heads: 1, size: spec.Width()}
			if at.Sublayer == stream.Attention {
				s = pathSite{at.Name(), at.Name() + ".heads", true, spec.HeadCount(), spec.HeadDim()}
			}
			sites = append(sites, s)
		}
	}
	return sites, nil
}

// pathCounts returns the number of paths for each number of steps: the coefficients of the product
// of (1 + heads x) over the sites.
func pathCounts(sites []pathSite) []float64 {
	counts := make([]float64, len(sites)+1)
	counts[0] = 1
	for i, s := range sites {
		for n := i + 1; n > 0; n-- {
			counts[n] += float64(s.heads) * counts[n-1]
		}
	}
	return counts
}

// Table lists the orders and each sublayer's path of one step. If heads and virtual heads were
// measured, it also lists those that change the loss most.
func (p *PathExpansion) Table() figure.Table {
	t := figure.NewTable(fmt.Sprintf("loss of the next token by the longest path, patterns of attention held (%d rows, %d tokens; the model %v)", p.Rows, p.Tokens,
		p.Model), "lrrrrr",
		"paths", "how many", "loss", "gain", "share of all gains", "gain a path")
	t.Note = "steps: the sublayers that a path goes through. loss: with all paths of at most that many steps; gain: what\n" +
		"the longest of them take off it. alone: the gain of one sublayer next to the direct path; last: next to all\n" +
		"other paths of one step. A virtual head is two heads, one of which reads what the other has written."
	for _, o := range p.Orders {
		if o.Steps == 0 {
			t.Row("direct path", "1", o.Loss, "", "", "")
			continue
		}
		name := fmt.Sprintf("of %d steps", o.Steps)
		if o.Steps == 1 {
			name = "of 1 step"
		}
		t.Row(name, o.Paths, o.Loss, o.Gain, fmt.Sprintf("%.1f%%", 100*o.Share), o.Gain.Mean/o.Paths)
	}
	for _, s := range p.Steps {
		t.Row("1 step, "+s.Site, "", "", "alone "+s.Alone.String(), "last "+s.Last.String(), "")
	}
	addHeadPaths(&t, "head", p.Heads)
	addHeadPaths(&t, "virtual head", p.Pairs)
	return t
}

// addHeadPaths adds a row for each of the paths that change the loss most.
func addHeadPaths(t *figure.Table, kind string, paths []HeadPath) {
	for _, h := range figure.Largest(paths, listed, func(h HeadPath) float64 { return math.Abs(h.Gain.Mean) }) {
		name := kind + " " + h.First
		if h.Second != "" {
			name += ", read by " + h.Second
		}
		t.Row(name, "1", "", h.Gain, "", "")
	}
}

// Figures shows the gains by order, the gains of the paths of one step and, if they were measured,
// the gains of heads and virtual heads.
func (p *PathExpansion) Figures() []figure.Figure {
	orders := figure.NewBars("What the paths of each number of steps take off the loss", "nats ± standard error")
	for _, o := range p.Orders[min(1, len(p.Orders)):] {
		orders.Add(fmt.Sprint(o.Steps), o.Gain.Mean, o.Gain.StandardError)
	}
	steps := figure.NewBars("What the paths of one step take off the loss, by sublayer", "nats", "alone, next to the direct path",
		"last, next to all paths of one step")
	for _, s := range p.Steps {
		steps.AddGroup(s.Site, s.Alone.Mean, s.Last.Mean)
	}
	figures := []figure.Figure{orders, steps}
	if len(p.Heads) > 0 {
		heads := figure.NewBars("What each head's path of one step takes off the loss", "nats ± standard error")
		for _, h := range p.Heads {
			heads.Add(h.First, h.Gain.Mean, h.Gain.StandardError)
		}
		figures = append(figures, heads)
	}
	if len(p.Pairs) > 0 {
		figures = append(figures, p.pairMap())
	}
	return figures
}

// pairMap returns a map of the virtual heads' gains.
func (p *PathExpansion) pairMap() figure.Heatmap {
	m := figure.Heatmap{Title: "What each virtual head takes off the loss of all paths of one step, in nats", XLabel: "second head", YLabel: "first head",
		Diverging: true}
	for _, pair := range p.Pairs {
		m.Set(pair.First, pair.Second, pair.Gain.Mean)
	}
	return m
}
