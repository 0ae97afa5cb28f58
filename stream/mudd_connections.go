package stream

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/layers"
)

// connections holds the parameters of the sums after a block.
type connections struct {
	w1, w2, bias *gorgonia.Node // [D, h], [h, sums*sources], [sums*sources]
	// For prepost, otherwise nil: norms of the kept output and of the last sum, and the gain [D]
	// for the input of the weights.
	norm, post *layers.Norm
	denseGain  *gorgonia.Node
}

// connectionsName returns "blocks.3.mudd" for block 3.
func connectionsName(block int) string { return blockName(block) + ".mudd" }

func newConnections(b *graph.Builder, c MUDDConfig, block int) connections {
	name := connectionsName(block)
	sums, sources, hidden := c.sums(block)
	w1 := c.Init.Hidden(name+".w1", c.D, c.WidthRatio, c.D, hidden)
	w1.Init = graph.Normal(1 / math.Sqrt(float64(c.D)))
	bias := table(sums, sources, func(_, j int) float64 { return indicator(j == sources-1 && !c.PrePost) })
	own := func(p graph.ParamSpec) *gorgonia.Node {
		p.Unshared = true
		return b.Param(p)
	}
	m := connections{w1: own(w1), w2: own(decaying(name+".w2", hidden, len(bias))), bias: own(constant(name+".bias", bias, len(bias)))}
	if c.PrePost {
		m.norm, m.post = newRMS(b, name+".norm", c.Vectors, 1), newRMS(b, name+".post_norm", c.Vectors, 0.001)
		m.denseGain = b.Param(layers.Gain(name+".dense_norm", c.D))
	}
	return m
}

// weights computes A [T, sums*sources] from a block's output.
func (k connections) weights(b *graph.Builder, x *gorgonia.Node, c MUDDConfig) *gorgonia.Node {
	z := norm.Linear(b, x, k.denseGain, k.w1, norm.Options{RMS: true, Eps: c.Norm.Eps}) // [T, h]
	return mapped(b, elementwise.Gelu(b, z, c.ExactGelu), k.w2, k.bias)
}

// newRMS makes an RMSNorm for connections, whose gain starts at the number start.
func newRMS(b *graph.Builder, name string, c Vectors, start float64) *layers.Norm {
	return layers.NewNormFrom(b, name, layers.NormConfig{RMS: true, Eps: c.Norm.Eps}, start, c.D)
}
