package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// prepareBlocks is the most blocks that share the sums over tokens of cuda/prepareqkv.cu, of 8 warps with
// a head of a token each.
const (
	prepareBlocks = 256
	prepareWarps  = 8
)

// inOrNone is input i in type t, the zero Array if i is -1.
func inOrNone(c *graph.DeviceCall, i int, t cuda.Type) (cuda.Array, error) {
	if i < 0 {
		return cuda.Array{}, nil
	}
	return c.InAs(i, t)
}

// deviceHeads passes the numbers of heads and their size to a kernel.
func deviceHeads(d kernel.QKVParams) []cuda.Arg {
	return []cuda.Arg{cuda.Int(d.Heads), cuda.Int(d.KVHeads), cuda.Int(d.HeadDim)}
}

// preparationInputs are what both passes read next to qkv, by the numbers of the inputs, -1 for none.
func preparationInputs(c *graph.DeviceCall, t cuda.Type, query, key, first, weights int) (args []cuda.Arg, err error) {
	for _, in := range []struct {
		i int
		t cuda.Type
	}{{query, cuda.F32}, {key, cuda.F32}, {first, t}, {weights, cuda.F32}} {
		x, err := inOrNone(c, in.i, in.t)
		if err != nil {
			return nil, err
		}
		args = append(args, x.Arg())
	}
	return args, nil
}

func (k preparation) Launch(c *graph.DeviceCall) error {
	y, d := c.Out(), k.params(c.Signature(0))
	x, err := c.InAs(0, y.Type)
	if err != nil {
		return err
	}
	query, key := k.gains(1)
	inputs, err := preparationInputs(c, y.Type, query, key, k.first(), k.weights())
	if err != nil {
		return err
	}
	rows := y.N / d.HeadDim
	args := append([]cuda.Arg{y.Arg(), x.Arg()}, inputs...)
	args = append(append(args, cuda.Long(rows)), deviceHeads(d)...)
	return c.Launch("prepare_qkv"+y.Suffix(), cuda.Grid{X: cuda.CeilDiv(rows, prepareWarps), Threads: 32 * prepareWarps}, append(args, cuda.Float(d.Eps))...)
}

func (k preparationGrad) Launch(c *graph.DeviceCall) error {
	dx, d := c.Out(), k.of.params(c.Signature(0))
	dy, err := c.InAs(0, dx.Type)
	if err != nil {
		return err
	}
	weights, qkv, first := k.inputs()
	x, err := inOrNone(c, qkv, dx.Type)
	if err != nil {
		return err
	}
	query, key := k.of.gains(1)
	inputs, err := preparationInputs(c, dx.Type, query, key, first, weights)
	if err != nil {
		return err
	}
	rows := dx.N / d.HeadDim
	chunk := cuda.CeilDiv(cuda.CeilDiv(rows, prepareBlocks), prepareWarps) * prepareWarps
	blocks := cuda.CeilDiv(rows, chunk)
	var sums [3]graph.SecondarySum // of the gains and of the weights
	args := []cuda.Arg{dx.Arg()}
	for i := range sums {
		if sums[i], err = c.SecondarySum(i, blocks); err != nil {
			return err
		}
		args = append(args, sums[i].Partial.Arg())
	}
	args = append(append(args, dy.Arg(), x.Arg()), inputs...)
	args = append(append(args, cuda.Long(rows), cuda.Long(chunk)), deviceHeads(d)...)
	grid := cuda.Grid{X: blocks, Threads: 32 * prepareWarps, Shared: prepareWarps * 2 * d.HeadDim * cuda.F32.Size()}
	if err := c.Launch("prepare_qkv_grad"+dx.Suffix(), grid, append(args, cuda.Float(d.Eps), cuda.Bool(k.of.mixed))...); err != nil {
		return err
	}
	for _, s := range sums {
		if err := s.Finish(c, 1); err != nil {
			return err
		}
	}
	return nil
}

func (k firstGrad) Launch(c *graph.DeviceCall) error {
	dfirst, d := c.Out(), k.of.params(c.Signature(0))
	weights, addend := k.inputs()
	dy, err := c.InAs(0, dfirst.Type)
	if err != nil {
		return err
	}
	w, err := inOrNone(c, weights, cuda.F32)
	if err != nil {
		return err
	}
	before, err := inOrNone(c, addend, dfirst.Type)
	if err != nil {
		return err
	}
	return c.Launch("values_first"+dfirst.Suffix(), cuda.Over(dfirst.N, 256),
		append([]cuda.Arg{dfirst.Arg(), dy.Arg(), w.Arg(), before.Arg(), cuda.Long(dfirst.N)}, deviceHeads(d)...)...)
}

func (k values) Launch(c *graph.DeviceCall) error {
	v := c.Out()
	x, err := c.InAs(0, v.Type)
	if err != nil {
		return err
	}
	return c.Launch("values_copy"+v.Suffix(), cuda.Over(v.N, 256),
		append([]cuda.Arg{v.Arg(), x.Arg(), cuda.Long(v.N)}, deviceHeads(k.of.params(c.Signature(0)))...)...)
}

func (k valuesGrad) Launch(c *graph.DeviceCall) error {
	dqkv := c.Out()
	in, err := c.InAll(dqkv.Type, 0, 1)
	if err != nil {
		return err
	}
	return c.Launch("values_grad"+dqkv.Suffix(), cuda.Over(dqkv.N, 256),
		append([]cuda.Arg{dqkv.Arg(), in[0].Arg(), in[1].Arg(), cuda.Long(dqkv.N)}, deviceHeads(k.of.of.params(k.qkv))...)...)
}
