package stream

import (
	"fmt"

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

// Name is "denseformer".
func (DenseFormerConfig) Name() string { return "denseformer" }

// Card describes DenseFormer.
func (DenseFormerConfig) Card() layers.Card {
	return layers.Card{
		Title:    "DenseFormer",
		Equation: "X_i = Block_i(Y_{i-1});   Y_i = sum over j <= i of a_i[j] X_j",
		Source:   "Pagliardini et al. 2024, arXiv 2402.02622: depth-weighted averages",
		Use:      "Every block reads a learned sum of all earlier blocks' outputs, for L(L+3)/2 parameters and hardly any FLOPs. It starts as the transformer, bit for bit. What it costs is memory: the outputs are kept. Dilation and period thin the averages out.",
	}
}

// Defaults average all outputs after each block.
func (c DenseFormerConfig) Defaults() Design {
	c.Dilation, c.Period = orDefault(c.Dilation, 1), orDefault(c.Period, 1)
	return c
}

// Check wants a dilation and a period of 1 at least, and blocks enough that the last average is
// of more than its own block's output.
func (c DenseFormerConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	if err := layers.CheckSizes(layers.Size{Key: "dilation", Value: c.Dilation}, layers.Size{Key: "period", Value: c.Period}); err != nil {
		return err
	}
	if c.Period > c.Layers {
		return layers.Setting("period", "want 1 to %d, the number of layers, got %d", c.Layers, c.Period)
	}
	if last := c.Layers - c.Layers%c.Period; c.Dilation > last {
		return layers.Setting("dilation", "want 1 to %d, the block of the last average (layers %d, period %d), got %d: no average would reach another output", last, c.Layers, c.Period, c.Dilation)
	}
	return nil
}

// Shape is that of one vector a token; the kept outputs are not counted.
func (c DenseFormerConfig) Shape() Shape { return c.shape(c.D) }

// Plain is a vector stream: at first each average is the block's own output.
func (c DenseFormerConfig) Plain() (Design, bool) { return VectorConfig{Vectors: c.Vectors}, true }

// Cost has the averages: a weight for each output in each, L(L+3)/2 with dilation and period
// 1; what an average gives is kept next to the block's own output.
func (c DenseFormerConfig) Cost() layers.Cost {
	d, _, _ := c.counts()
	total := c.cost().Plus(c.lastNormCost())
	for block := range c.Layers {
		if n := float64(len(c.members(block))); n > 0 {
			total = total.Plus(layers.Cost{Parameters: n, FLOPs: 2 * d * n, Activations: d})
		}
	}
	return total
}

// PassParameters are the averages' after each pass: a later one is of more outputs.
func (c DenseFormerConfig) PassParameters() float64 {
	count := 0
	for block := c.Layers - c.Loop.Further(); block < c.Layers; block++ {
		count += len(c.members(block))
	}
	return float64(count)
}

// members are the outputs, 0 being the embedding, that the average after a block is of, first
// to last; none without an average.
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

// New is newDenseFormer.
func (c DenseFormerConfig) New(b *graph.Builder) Stream { return newDenseFormer(b, c) }

// denseFormer is a vector stream with depth-weighted averages (Pagliardini et al. 2024, arXiv
// 2402.02622): with X_0 the embedding, and X_i = Block_i(Y_(i-1)) of the blocks i = 1..L,
//
//	Y_i = sum over j <= i, j = i mod k, of a_i[j] X_j    where i mod p = 0, else Y_i = X_i
//
// Y_i is the next block's input, and Y_L that of the last norm. At first a_i = (0, ..., 0, 1):
// the function is that of a vector stream. The weights do not decay.
//
// Parameters after depth l, counted from 0: "blocks.l.dwa" [n], n = floor((l+1)/k) + 1, of each pass of a
// loop its own.
type denseFormer struct {
	*Vector
	c        DenseFormerConfig
	averages []*gorgonia.Node // of each block; nil: none
}

// denseFormerState is the stream h [T, D], and what averages are of.
type denseFormerState struct {
	VectorState
	Outputs gorgonia.Nodes // X_0 .. X_i, [T, D] each
}

// Nodes returns h and the outputs.
func (s denseFormerState) Nodes() gorgonia.Nodes {
	return append(gorgonia.Nodes{s.H}, s.Outputs...)
}

// WithVector is the state of another h.
func (s denseFormerState) WithVector(h *gorgonia.Node) State {
	s.H = h
	return s
}

// newDenseFormer makes the parameters of a DenseFormer stream.
func newDenseFormer(b *graph.Builder, c DenseFormerConfig) *denseFormer {
	f := &denseFormer{Vector: NewVector(b, VectorConfig{Vectors: c.Vectors}), c: c, averages: make([]*gorgonia.Node, c.Layers)}
	for block := range c.Layers {
		if n := len(c.members(block)); n > 0 {
			own := make([]float64, n)
			own[n-1] = 1
			weights := constant(averageName(block), own, n)
			weights.Unshared = true
			f.averages[block] = b.Param(weights)
		}
	}
	return f
}

// averageName is "blocks.3.dwa".
func averageName(block int) string { return fmt.Sprintf("blocks.%d.dwa", block) }

// Embed is the vector stream's.
func (f *denseFormer) Embed(t Tokens) State {
	h := f.Vector.Embed(t).(VectorState)
	return denseFormerState{h, h.Nodes()}
}

// EndBlock keeps the block's output, and replaces h by the average if there is one.
func (f *denseFormer) EndBlock(s State, block int) State {
	state := s.(denseFormerState)
	state.Outputs = append(state.Outputs[:len(state.Outputs):len(state.Outputs)], state.H)
	var terms gorgonia.Nodes
	for _, j := range f.c.members(block) {
		terms = append(terms, state.Outputs[j])
	}
	if len(terms) > 0 {
		weights := f.b.Hook(averageName(block)+weightsHook, f.averages[block], "source")
		y := elementwise.WeightedSum(f.b, weights, terms...) // [T, D]
		state.H = f.b.Hook(averageName(block)+".out", y, "feature")
	}
	return state
}

// DepthReads are the averages, of the embedding and the blocks' outputs.
func (f *denseFormer) DepthReads() (sources []string, reads []DepthRead) {
	for block, average := range f.averages {
		if average != nil {
			reads = append(reads, DepthRead{Name: averageName(block), Readers: []string{blockReader(block, f.c.Layers)},
				Of: f.c.members(block), Weights: averageName(block) + weightsHook})
		}
	}
	return blockSources(f.c.Layers), reads
}

// Form is h' = h + F(h), with averages after blocks.
func (f *denseFormer) Form(at Site) Form {
	form := plainForm(at, "Pagliardini et al. 2024, arXiv 2402.02622")
	form.Beyond = []Term{{Text: "after a block: a learned sum of the outputs of blocks so far", Parameters: nodeNames(f.averages[at.Block])}}
	return form
}

// Output is the last average, or the vector stream's end.
func (f *denseFormer) Output() string {
	if last := f.c.Layers - 1; f.averages[last] != nil {
		return averageName(last) + ".out"
	}
	return f.Vector.Output()
}

// Freeze carries h and the outputs so far, one below the other: an average replaces h, and a
// block's end has one more output. The weights are what they are: nothing is frozen but the last
// norm's scale.
func (f *denseFormer) Freeze(r Record) (*Frozen, error) { return f.freeze(r), nil }

// Static is Freeze: nothing depends on a run.
func (f *denseFormer) Static() *Frozen { return f.freeze(nil) }

func (f *denseFormer) freeze(r Record) *Frozen {
	d := f.c.D
	one := linear.Identity(d)
	frozen := NewFrozen(r, d)
	frozen.writeTables(f.tables, linear.Stack{one, one}) // h and X_0
	for block := range f.c.Layers {
		rows := block + 2
		row := linear.Row(rows, 0, d)
		for _, site := range f.Sites(block) {
			frozen.vectorSite(site, row, linear.Transposed{Of: row}, f.after(site))
		}
		end := linear.Stack{linear.Rows(d, f.average(block))}
		for i := 1; i < rows; i++ {
			end = append(end, linear.Row(rows, i, d))
		}
		frozen.Step(append(end, row))
	}
	frozen.Step(linear.Row(f.c.Layers+2, 0, d))
	frozen.ReadOut(one, thenNorm(f.b, f.norm))
	return frozen
}

// average are the coefficients of the next h: of h, and of the outputs before it.
func (f *denseFormer) average(block int) []float64 {
	own := block + 1
	of := make([]float64, own+1)
	of[0] = 1
	if weights := f.averages[block]; weights != nil {
		for i, a := range values(f.b, weights.Name()) {
			of[(f.c.members(block)[i]+1)%len(of)] = a // the block's own output is h
		}
	}
	return of
}
