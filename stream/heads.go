package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/layers"
)

// heads holds the projections around one attention: Norm and W_QKV before it, W_O after it.
type heads struct {
	norm                *layers.Norm   // nil: the stream is read without a norm
	qkv, qkvBias        *gorgonia.Node // [D, W + 2 KV Dh], W = heads*headDim
	columns             []int          // of queries, keys and values
	output, outputsBias *gorgonia.Node // [W, D]
}

// newBareHeads makes projections without a norm; outputInit says how W_O starts.
func newBareHeads(b *graph.Builder, c Vectors, name string, outputInit func(string, int, float64, ...int) graph.ParamSpec) heads {
	qkv := c.Init.Hidden(name+".qkv", c.D, c.WidthRatio, c.D, c.qkvWidth())
	kv := c.kvHeads() * c.headDim()
	qkv.Columns = []int{c.headsWidth(), kv, kv}
	h := heads{
		qkv:     b.Param(qkv),
		columns: qkv.Columns,
		output:  b.Param(outputInit(name+".o", c.headsWidth(), c.HeadsRatio, c.headsWidth(), c.D)),
	}
	qkvBias, outputBias := c.biases()
	if qkvBias {
		h.qkvBias = b.Param(layers.Zero(name+".qkv_bias", c.qkvWidth()))
	}
	if outputBias {
		h.outputsBias = b.Param(layers.Zero(name+".o_bias", c.D))
	}
	return h
}

// mapped returns x W + bias; bias may be nil.
func mapped(b *graph.Builder, x, w, bias *gorgonia.Node) *gorgonia.Node {
	return linear.Map(b, x, w, linear.Options{Bias: bias})
}
