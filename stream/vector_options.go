package stream

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// The values of VectorConfig.X0.
const (
	x0None     = "none"
	x0Neutral  = "neutral"
	x0Nanochat = "nanochat"
)

// hasX0 tells whether h_0 is added before blocks.
func (c VectorConfig) hasX0() bool { return c.X0 != "" && c.X0 != x0None }

// optionsCost returns the cost of LayerScale's gains, which keep their inputs, and of x0's two
// weights for each block, which keep their sum as well as its terms.
func (c VectorConfig) optionsCost() layers.Cost {
	d, _, blocks := c.counts()
	var cost layers.Cost
	if sites := float64(len(c.sublayers())); c.LayerScale {
		cost = cost.Plus(layers.Cost{Parameters: sites * d, Activations: sites * d})
	}
	if c.hasX0() {
		cost = cost.Plus(layers.Cost{Parameters: 2, FLOPs: 4 * d, Activations: d})
	}
	cost = cost.Times(blocks).Plus(c.entryCost())
	if c.Backout {
		cost = cost.Plus(layers.Cost{Parameters: 1, FLOPs: 2 * d, Activations: d})
		if c.hasX0() && c.Layers/2+1 < c.Layers { // x0 keeps that stream for the next block
			cost.Activations -= d
		}
	}
	return cost
}

// addOptions makes the parameters of a vector stream's options: LayerScale's gains (Touvron et al.
// 2021, arXiv 2103.17239, section 2), g [D] at each site, "blocks.3.attention.scale", and lambda
// and mu of each block (Karpathy 2025, nanochat), "blocks.3.x0" [2]:
//
//	h <- h + g ⊙ F(h);   before block l  h <- lambda_l h + mu_l h_0
//
// with h_0 the embedding, after entry; and mu of backout, "backout" [1], 0.2 at first, with h' the
// stream after block L/2 from 0: the last norm reads
//
//	h - mu h'
//
// None of them decays.
func (v *Vector) addOptions(c VectorConfig) {
	v.entry = newEntry(v.b, c)
	if c.Backout {
		v.backout = v.b.Param(constant(backoutName, []float64{0.2}, 1))
	}
	for _, at := range c.AllSites() {
		if c.hasX0() && at.Sublayer == Attention {
			v.x0 = append(v.x0, v.b.Param(constant(x0Name(at.Block), x0Start(c, c.Loop.Block(at.Block)), 2)))
		}
		if c.LayerScale {
			v.scales = append(v.scales, v.b.Param(graph.ParamSpec{Name: at.Name() + ".scale", Shape: []int{c.D}, Init: graph.Initializer{Offset: scaleStart(c.Layers)}}))
		}
	}
}

// backoutName names the parameter of backout.
const backoutName = "backout"

// backoutBlock returns the block after which backout keeps the stream.
func (v *Vector) backoutBlock() int { return v.c.Layers / 2 }

// backedOut returns h - mu h', with h' the last of the state's More.
func (v *Vector) backedOut(s VectorState) *gorgonia.Node {
	before := s.More[len(s.More)-1]
	h := v.b.Add(s.H, elementwise.Scale(v.b, elementwise.WeightedSum(v.b, v.backout, before), -1)) // [T, D]
	return v.b.Hook(backoutName+".out", h, "feature")
}

// x0Name returns "blocks.3.x0" for block 3.
func x0Name(block int) string { return fmt.Sprintf("blocks.%d.x0", block) }

// x0Start returns the initial lambda and mu of a block: 1 and 0, or nanochat's, which fall from
// 1.15 to 1.05 and from 0.2 to 0.05 over the blocks.
func x0Start(c VectorConfig, block int) []float64 {
	if c.X0 == x0Neutral {
		return []float64{1, 0}
	}
	depth := float64(block) / float64(max(1, c.Layers-c.Loop.Further()-1))
	return []float64{1.15 - 0.1*depth, 0.2 - 0.15*depth}
}

// scaleStart returns the value at which gains start, by depth (Touvron et al. 2021, section 2).
func scaleStart(blocks int) float64 {
	switch {
	case blocks <= 18:
		return 0.1
	case blocks <= 24:
		return 1e-5
	}
	return 1e-6
}

// beginBlock computes lambda h + mu h_0 in one pass.
func (v *Vector) beginBlock(s VectorState, block int) State {
	h := elementwise.WeightedSum(v.b, v.x0[block], s.H, s.More[0]) // [T, D]
	return s.with(v.b.Hook(x0Name(block)+".out", h, "feature"))
}

// addScaled computes h + g ⊙ y, in one pass unless what is added is hooked.
func (v *Vector) addScaled(h *gorgonia.Node, at Site, y *gorgonia.Node) *gorgonia.Node {
	g := v.scales[at.Index]
	y = elementwise.Dropout(v.b, y, v.c.Dropout)
	if v.b.Hooked(at.Name() + ".write") {
		return v.b.Add(h, v.Hook(at, ".write", elementwise.Hadamard(v.b, y, g)))
	}
	return elementwise.AddScaled(v.b, h, y, g) // [T, D]
}

// optionsForm returns a form with the options' coefficients.
func (v *Vector) optionsForm(at Site, f Form) Form {
	if v.scales != nil {
		start := scaleStart(v.c.Layers)
		f.Up = Coefficient{Choice: Learned, Diagonal: true, Rows: 1, Columns: 1, Axes: "1 x 1", Parameters: nodeNames(v.scales[at.Index]),
			Start: Start{Text: fmt.Sprintf("%g", start), Values: []float64{start}}}
		f.Source += "; LayerScale: Touvron et al. 2021, arXiv 2103.17239"
	}
	if v.x0 != nil && at.Sublayer == Attention {
		f.Beyond = append(f.Beyond, Term{Text: "before a block: lambda h + mu h_0, h_0 being the embedding", Parameters: nodeNames(v.x0[at.Block])})
	}
	if v.backout != nil && at == v.c.lastSite() {
		f.Beyond = append(f.Beyond, Term{Text: "before the last norm: h - mu h', h' being the stream after block L/2", Parameters: nodeNames(v.backout)})
	}
	if v.entry != nil && v.entry.gate != nil && at.Index == 0 {
		f.Beyond = append(f.Beyond, Term{Text: "before the first block: the token before is added, times lambda and a gate",
			Parameters: nodeNames(v.entry.gate, v.entry.lambda)})
	}
	return f
}

// scaled puts a site's gains before a map by which it writes.
func (v *Vector) scaled(at Site, up linear.Map) linear.Map {
	if v.scales == nil {
		return up
	}
	return linear.Chain{linear.Norm{Gain: v.values(v.scales[at.Index]), Groups: 1}, up}
}
