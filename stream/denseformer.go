package stream

import (
	"cmp"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// DenseFormerConfig describes a DenseFormer stream.
type DenseFormerConfig struct {
	Vectors
	Dilation int `yaml:"dilation" default:"1" max:"4096" help:"k: a block's average takes every k-th block's output, back from its own"`
	Period   int `yaml:"period" default:"1" max:"4096" help:"p: there is an average after every p-th block"`
}

// Name returns "denseformer".
func (DenseFormerConfig) Name() string { return "denseformer" }

// Card describes DenseFormer.
func (DenseFormerConfig) Card() layers.Card {
	return layers.Card{
		Title:    "DenseFormer",
		Equation: "X_i = Block_i(Y_{i-1});   Y_i = sum over j <= i of a_i[j] X_j",
		Source:   "Pagliardini et al. 2024, arXiv 2402.02622: depth-weighted averages",
		Use: "Every block reads a learned sum of all earlier blocks' outputs, for L(L+3)/2 parameters and hardly any FLOPs. It starts as the " +
			"transformer, bit for bit. What it costs is memory: the outputs are kept. Dilation and period thin the averages out.",
	}
}

// Defaults averages all outputs after each block.
func (c DenseFormerConfig) Defaults() Design {
	c.Dilation, c.Period = orDefault(c.Dilation, 1), orDefault(c.Period, 1)
	return c
}

// Check returns an error unless dilation and period are at least 1 and there are enough blocks for
// the last average to have more than its own block's output.
func (c DenseFormerConfig) Check() error {
	if err := cmp.Or(c.Vectors.Check(), layers.CheckSize("dilation", c.Dilation), layers.CheckSize("period", c.Period)); err != nil {
		return err
	}
	if c.Period > c.Layers {
		return layers.Setting("period", "want 1 to %d, the number of layers, got %d", c.Layers, c.Period)
	}
	if last := c.Layers - c.Layers%c.Period; c.Dilation > last {
		return layers.Setting("dilation", "want 1 to %d, the block of the last average (layers %d, period %d), got %d: no average would reach another output", last,
			c.Layers, c.Period, c.Dilation)
	}
	return nil
}

// Plain returns a vector stream: each average starts as the block's own output.
func (c DenseFormerConfig) Plain() (Design, bool) { return c.plain(true) }

// Cost counts the averages: a weight for each output in each of them, L(L+3)/2 with dilation and
// period 1. The result of an average is kept in addition to the block's own output.
func (c DenseFormerConfig) Cost() layers.Cost {
	d := float64(c.D)
	total := c.Vectors.Cost()
	for block := range c.Layers {
		if n := float64(len(c.members(block))); n > 0 {
			total = total.Plus(layers.Cost{FLOPs: 2 * d * n, Activations: d})
		}
	}
	return total
}

// DepthParameters counts the parameters of an average. On a later pass of a loop it averages more
// outputs.
func (c DenseFormerConfig) DepthParameters() func(depth int) (shared, own float64) {
	return func(depth int) (shared, own float64) { return 0, float64(len(c.members(depth))) }
}

// members lists the outputs in the average after a block, first to last, where 0 is the embedding;
// nil if there is no average.
func (c DenseFormerConfig) members(block int) []int {
	own := block + 1
	if own%c.Period != 0 {
		return nil
	}
	var members []int
	for j := own % c.Dilation; j <= own; j += c.Dilation {
		members = append(members, j)
	}
	return members
}

// New makes the parameters of a DenseFormer stream.
func (c DenseFormerConfig) New(b *graph.Builder) Stream {
	f := &denseFormer{Vector: newVector(b, c.Vectors), config: c, averages: make(gorgonia.Nodes, c.Layers)}
	for block := range c.Layers {
		if n := len(c.members(block)); n > 0 {
			weights := constant(averageName(block), table(n, 1, func(i, _ int) float64 { return indicator(i == n-1) }), n)
			weights.Unshared = true
			f.averages[block] = b.Param(weights)
		}
	}
	f.Use(f)
	return f
}

// denseFormer is a vector stream with depth-weighted averages (Pagliardini et al. 2024, arXiv
// 2402.02622): with X_0 the embedding, and X_i = Block_i(Y_(i-1)) of the blocks i = 1..L,
//
//	Y_i = sum over j <= i, j = i mod k, of a_i[j] X_j    where i mod p = 0, else Y_i = X_i
//
// Y_i is the input of the next block, and Y_L of the last norm. At first a_i = (0, ..., 0, 1),
// which makes it a vector stream. The weights do not decay. The state's More are X_0 .. X_i.
//
// Parameters after depth l, counted from 0: "blocks.l.dwa" [n], n = floor((l+1)/k) + 1,
// separate for each pass of a loop.
type denseFormer struct {
	*Vector
	config   DenseFormerConfig
	averages gorgonia.Nodes // one for each block; nil: none
}

// averageName returns "blocks.3.dwa" for block 3.
func averageName(block int) string { return blockName(block) + ".dwa" }

// Embed makes the vector stream's embedding.
func (f *denseFormer) Embed(t Tokens) State {
	h := f.embed(t)
	return VectorState{h, gorgonia.Nodes{h}}
}

// EndBlock keeps the block's output, and replaces h by the average if there is one.
func (f *denseFormer) EndBlock(s State, block int) State {
	state := s.(VectorState)
	state.More = append(slices.Clip(state.More), state.H)
	var terms gorgonia.Nodes
	for _, j := range f.config.members(block) {
		terms = append(terms, state.More[j])
	}
	if len(terms) > 0 {
		weights := f.b.Hook(averageName(block)+weightsHook, f.averages[block], "source")
		y := elementwise.WeightedSum(f.b, weights, terms...) // [T, D]
		state.H = f.b.Hook(averageName(block)+".out", y, "feature")
	}
	return state
}

// DepthReads lists the averages of the embedding and the blocks' outputs.
func (f *denseFormer) DepthReads() (sources []string, reads []DepthRead) {
	for block, average := range f.averages {
		if average != nil {
			reads = append(reads, DepthRead{Name: averageName(block), Readers: []string{blockReader(block, f.c.Layers)},
				Of: f.config.members(block), Weights: averageName(block) + weightsHook})
		}
	}
	return blockSources(f.c.Layers), reads
}

// Form describes h' = h + F(h), with averages after blocks.
func (f *denseFormer) Form(at Site) Form {
	form := plainForm(at, "Pagliardini et al. 2024, arXiv 2402.02622")
	form.Beyond = []Term{{"after a block: a learned sum of the outputs of blocks so far", nodeNames(f.averages[at.Block])}}
	return form
}

// Output names the last average, or the end of the vector stream.
func (f *denseFormer) Output() string {
	if last := f.c.Layers - 1; f.averages[last] != nil {
		return averageName(last) + ".out"
	}
	return f.Vector.Output()
}

// Carry keeps h and all outputs so far, one below the other. An average replaces h, and the
// end of a block adds an output. The weights do not depend on the input, so only the last
// norm's scale is frozen.
func (f *denseFormer) Carry(to *Frozen) {
	d := f.c.D
	f.CarrySites(to, copies(2, d), func(at Site) { // h and X_0
		rows := at.Block + 2
		f.carrySite(to, at, rows)
		if at.Sublayer == Attention {
			return
		}
		end := linear.Stack{linear.Rows(d, f.average(at.Block))}
		for i := 1; i <= rows; i++ {
			end = append(end, linear.Row(rows, i%rows, d))
		}
		to.Step(end)
	})
	f.CarryEnd(to, linear.Row(f.c.Layers+2, 0, d))
}

// average returns the coefficients of the next h: of h, and of the outputs before it.
func (f *denseFormer) average(block int) []float64 {
	of := make([]float64, block+2)
	of[0] = 1
	if weights := f.averages[block]; weights != nil {
		for i, a := range f.values(weights) {
			of[(f.config.members(block)[i]+1)%len(of)] = a // the block's own output is h
		}
	}
	return of
}
