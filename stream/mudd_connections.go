package stream

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/layers"
)

// connections are the parameters of the sums that follow a block.
type connections struct {
	w1, w2, bias *gorgonia.Node // [D, h], [h, sums*sources], [sums*sources]
	// Of prepost, else nil: of the kept output, the last sum, and the weights' input, whose gain is
	// [D].
	norm, post *layers.Norm
	denseGain  *gorgonia.Node
}

// connectionsName is "blocks.3.mudd".
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

// weights are A [T, sums*sources] of a block's output.
func (k connections) weights(b *graph.Builder, x *gorgonia.Node, c MUDDConfig) *gorgonia.Node {
	z := norm.Linear(b, x, k.denseGain, k.w1, norm.Options{RMS: true, Eps: c.Norm.Eps}) // [T, h]
	return mapped(b, elementwise.Gelu(b, z, c.ExactGelu), k.w2, k.bias)
}

// newRMS makes an RMSNorm around connections, whose gain starts at a number.
func newRMS(b *graph.Builder, name string, c Vectors, start float64) *layers.Norm {
	return layers.NewNormFrom(b, name, layers.NormConfig{RMS: true, Eps: c.Norm.Eps}, start, c.D)
}
