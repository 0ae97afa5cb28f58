package stream

import (
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/delta"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// entry is what a vector stream does before the first block with the rows h from its tables
// (Karpathy 2025, nanochat): it divides h by its root mean square, then adds the previous token's
// h, gated,
//
//	h_t <- h_t + lambda sigmoid(h_t[:c] . g) h_(t-1)
//
// where h_(t-1) is the previous token's h before this addition; it counts as 0 for the first token
// of a row and, if documents are masked, of a document.
type entry struct {
	b            *graph.Builder
	c            VectorConfig
	gate, lambda *gorgonia.Node // g [c, 1], lambda [1]; nil: no smear
}

// The hooks of what enters: what the tables give together, and what smear adds.
const (
	tableSum   = "embedding.sum"
	smearWrite = "smear.write"
)

// newEntry makes "smear.gate" [c, 1], uniform from 0 to 0.02 at first, and "smear.lambda" [1], 0 at
// first, which do not decay. Without smear there are no parameters, and without a norm of the
// embedding either it returns nil.
func newEntry(b *graph.Builder, c VectorConfig) *entry {
	if c.Smear == 0 && !c.EmbeddingNorm {
		return nil
	}
	e := &entry{b: b, c: c}
	if c.Smear > 0 {
		e.gate = b.Param(graph.ParamSpec{Name: "smear.gate", Shape: []int{c.Smear, 1}, Init: graph.Initializer{Offset: 0.01, Uniform: 0.01}})
		e.lambda = b.Param(layers.Zero("smear.lambda", 1))
	}
	return e
}

// entryCost returns the cost of an entry. The backward pass keeps what the gate reads, the previous
// tokens' h, the gated h, and what is added.
func (c VectorConfig) entryCost() (cost layers.Cost) {
	d, channels := float64(c.D), float64(c.Smear)
	if c.EmbeddingNorm {
		cost = c.entryNorm().Cost(d).WithParameters(layers.Cost{})
	}
	if c.Smear > 0 {
		cost = cost.Plus(layers.Cost{Parameters: channels + 1, FLOPs: 2*channels + 8*d, Activations: 3*d + channels + 1})
	}
	return cost
}

// entryNorm returns the settings of the norm of the embedding, which has no gain.
func (c VectorConfig) entryNorm() layers.NormConfig {
	return layers.NormConfig{RMS: true, Eps: c.Norm.Eps}
}

// enter returns what the first block reads: [T, D]. near is a parameter that its constants go with
// (see shape.Constant).
func (e *entry) enter(h *gorgonia.Node, in Tokens, near *gorgonia.Node) *gorgonia.Node {
	if e == nil || h == nil {
		return h
	}
	b, d := e.b, e.c.D
	if e.c.EmbeddingNorm {
		h = norm.Apply(b, b.Hook(tableSum, h, "feature"), shape.Constant(b, near, ones(d), d), norm.Options{RMS: true, Eps: e.c.Norm.Eps})
	}
	if e.gate == nil {
		return h
	}
	filter := e.constant(near, 1, -1)                                                                            // [2, D], for h_(t-1) - h_t
	before := delta.Convolve(b, h, delta.ReadOptions{Seq: in.IDs.Shape()[1], Filter: filter, Starts: in.Starts}) // [T, D], h_(t-1)
	gate := elementwise.Sigmoid(b, mapped(b, shape.Slice(b, h, 0, e.c.Smear), e.gate, nil))                      // [T, 1]
	added := elementwise.WeightedSum(b, e.lambda, elementwise.WeightedSum(b, gate, before))                      // [T, D]
	return b.Add(h, b.Hook(smearWrite, added, "feature"))
}

// constant returns a matrix [len(values), D] in which all entries of row i are values[i].
func (e *entry) constant(near *gorgonia.Node, values ...float64) *gorgonia.Node {
	var all []float64
	for _, v := range values {
		all = append(all, slices.Repeat([]float64{v}, e.c.D)...)
	}
	return shape.Constant(e.b, near, all, len(values), e.c.D)
}

// ones returns n ones.
func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }
