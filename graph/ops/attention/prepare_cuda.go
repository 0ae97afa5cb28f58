package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// prepareBlocks is the largest number of blocks that share the sums over tokens in
// cuda/prepareqkv.cu. A block has 8 warps; each handles one head of a token.
const (
	prepareBlocks = 256
	prepareWarps  = 8
)

// deviceHeads returns kernel arguments for the numbers of heads and their size.
func deviceHeads(d kernel.QKVParams) cuda.Args { return cuda.Ints(d.Heads, d.KVHeads, d.HeadDim) }

// inputs returns the kernel arguments that both passes read in addition to qkv.
func (p places) inputs(c *graph.DeviceCall, t cuda.Type) cuda.Args {
	return cuda.Args{c.InAs(p.query, cuda.F32), c.InAs(p.key, cuda.F32), c.InAs(p.first, t), c.InAs(p.weights, cuda.F32)}
}

func (k preparation) Launch(c *graph.DeviceCall) {
	y, d := c.Out(), k.params(c.Signature(0))
	x := c.InAs(0, y.Type)
	inputs := k.inputs(c, y.Type)
	rows := y.N / d.HeadDim
	c.Launch("prepare_qkv"+y.Suffix(), cuda.Grid{X: cuda.CeilDiv(rows, prepareWarps), Threads: 32 * prepareWarps},
		y, x, inputs, cuda.Long(rows), deviceHeads(d), cuda.Float(d.Eps))
}

func (k preparationGrad) Launch(c *graph.DeviceCall) {
	dx, d := c.Out(), k.of.params(c.Signature(0))
	dy := c.InAs(0, dx.Type)
	x := c.InAs(k.qkv, dx.Type)
	inputs := k.inputs(c, dx.Type)
	rows := dx.N / d.HeadDim
	chunk := cuda.CeilDiv(cuda.CeilDiv(rows, prepareBlocks), prepareWarps) * prepareWarps
	blocks := cuda.CeilDiv(rows, chunk)
	queryGain, keyGain, weighs := c.SecondarySum(0, blocks), c.SecondarySum(1, blocks), c.SecondarySum(2, blocks)
	grid := cuda.Grid{X: blocks, Threads: 32 * prepareWarps, Shared: prepareWarps * 2 * d.HeadDim * cuda.F32.Size()}
	c.Launch("prepare_qkv_grad"+dx.Suffix(), grid, dx, queryGain.Partial, keyGain.Partial, weighs.Partial, dy, x, inputs,
		cuda.Long(rows), cuda.Long(chunk), deviceHeads(d), cuda.Float(d.Eps), cuda.Bool(k.of.first > 0))
	c.FinishSums(1, queryGain, keyGain, weighs)
}

func (k firstGrad) Launch(c *graph.DeviceCall) {
	dfirst, d := c.Out(), k.of.params(c.Signature(0))
	dy := c.InAs(0, dfirst.Type)
	w := c.InAs(k.weights, cuda.F32)
	before := c.InAs(k.addend, dfirst.Type)
	c.Launch("values_first"+dfirst.Suffix(), cuda.Over(dfirst.N, 256),
		dfirst, dy, w, before, cuda.Long(dfirst.N), deviceHeads(d))
}

func (k values) Launch(c *graph.DeviceCall) {
	v := c.Out()
	x := c.InAs(0, v.Type)
	c.Launch("values_copy"+v.Suffix(), cuda.Over(v.N, 256),
		v, x, cuda.Long(v.N), deviceHeads(k.of.params(c.Signature(0))))
}

func (k valuesGrad) Launch(c *graph.DeviceCall) {
	dqkv := c.Out()
	in := c.InAll(dqkv.Type, 0, 1)
	c.Launch("values_grad"+dqkv.Suffix(), cuda.Over(dqkv.N, 256),
		dqkv, in[0], in[1], cuda.Long(dqkv.N), deviceHeads(k.of.of.params(c.Result())))
}
