package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/layers"
)

// heads are the projections around one attention: Norm and W_QKV in, W_O out.
type heads struct {
	b                   *graph.Builder
	norm                *layers.Norm   // nil: the stream goes in as it is
	qkv, qkvBias        *gorgonia.Node // [D, W + 2 KV Dh], W = heads*headDim
	columns             []int          // of queries, keys and values
	output, outputsBias *gorgonia.Node // [W, D]
}

// newHeads makes projections whose output is added to the stream.
func newHeads(b *graph.Builder, c Vectors, name string) heads {
	norm := layers.NewNorm(b, name+".norm", c.Norm, c.D)
	h := newBareHeads(b, c, name, c.Init.Output)
	h.norm = norm
	return h
}

// newBareHeads makes projections without a norm; outputInit says how W_O starts.
func newBareHeads(b *graph.Builder, c Vectors, name string, outputInit func(string, int, float64, ...int) graph.ParamSpec) heads {
	qkv := c.Init.Hidden(name+".qkv", c.D, c.WidthRatio, c.D, c.qkvWidth())
	kv := c.kvHeads() * c.headDim()
	qkv.Columns = []int{c.headsWidth(), kv, kv}
	h := heads{
		b:       b,
		qkv:     b.Param(qkv),
		columns: qkv.Columns,
		output:  b.Param(outputInit(name+".o", c.headsWidth(), c.HeadsRatio, c.headsWidth(), c.D)),
	}
	if c.Bias {
		h.qkvBias = b.Param(layers.Zero(name+".qkv_bias", c.qkvWidth()))
		h.outputsBias = b.Param(layers.Zero(name+".o_bias", c.D))
	}
	return h
}

// read is W_QKV u: [T, D] -> [T, W + 2 KV Dh], queries, keys, values; heads are contiguous columns.
func (h heads) read(u *gorgonia.Node) *gorgonia.Node {
	return linear.Map(h.b, u, h.qkv, linear.Options{Bias: h.qkvBias})
}

// readWays is W_QKV where queries, keys and values each read the stream in a way of their own:
// u [T, 3, D].
func (h heads) readWays(u *gorgonia.Node) *gorgonia.Node {
	qkv := linear.Parts(h.b, u, h.qkv, h.columns...)
	if h.qkvBias != nil {
		qkv = linear.Bias(h.b, qkv, h.qkvBias)
	}
	return qkv
}

// write is W_O o: [T, H, Dh] -> [T, D].
func (h heads) write(o *gorgonia.Node) *gorgonia.Node {
	return linear.Map(h.b, o, h.output, linear.Options{Bias: h.outputsBias})
}
