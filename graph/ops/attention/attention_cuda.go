package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// deviceAttention is one launch of an attention.
type deviceAttention struct {
	*graph.DeviceCall
	kernel.AttentionParams
	kernels attentionKernels
	number  cuda.Type // of q, k, v and what is made of them
	padded  int       // the size of heads as the kernels see them: a multiple of 8

	starts cuda.Array // [batch, seq], or none
	slopes cuda.Array // [heads], or none
	angles cuda.Array // [positions, 2, padded/2]: cosines, sines; or none
}

// onDevice readies a launch over positions positions; starts is the input that holds them.
func (k attention) onDevice(c *graph.DeviceCall, qkv graph.Signature, starts, positions int) (*deviceAttention, error) {
	a := &deviceAttention{
		DeviceCall: c, AttentionParams: k.params(qkv), kernels: attentionKernelsOf(c.Device().Precision()),
		number: c.Activation(), starts: c.In(starts),
	}
	a.padded = paddedHead(a.HeadDim)
	saved := &k.saved.device
	var host []float32
	if saved.slopes.None() {
		host = narrowed(k.slopes)
	}
	var err error
	if a.slopes, err = c.Constant(&saved.slopes, host); err != nil || k.ropeBase == 0 {
		return a, err
	}
	host = nil
	if saved.angles.None() {
		host = ropeAngles(k.ropeBase, k.stretch, a.HeadDim, a.padded, positions)
	}
	a.angles, err = c.Constant(&saved.angles, host)
	return a, err
}

// narrowed returns x in 32 bits.
func narrowed(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// paddedHead is the size of heads of dim numbers as the kernels want them: half of it is a
// multiple of 4 (cuda/attention_pad.cu).
func paddedHead(dim int) int { return 2 * (cuda.CeilDiv(cuda.CeilDiv(dim, 2), 4) * 4) }

// ropeAngles are the cosines and sines of rotary positions (kernel/rope.go) of heads whose
// dim numbers are padded, [positions, 2, padded/2].
func ropeAngles(base float64, stretch kernel.RopeStretch, dim, padded, positions int) []float32 {
	angles := make([]float32, positions*padded)
	for i := range dim / 2 {
		for p := range positions {
			cos, sin := stretch.Turn(base, dim, i, p)
			angles[p*padded+i], angles[p*padded+padded/2+i] = float32(cos), float32(sin)
		}
	}
	return angles
}

// pairs is the number of (row, head) pairs.
func (a *deviceAttention) pairs() int { return a.Batch * a.Heads }

// heads returns input i, [..., dim], with its heads padded.
func (a *deviceAttention) heads(i int) (cuda.Array, error) {
	x, err := a.InAs(i, a.number)
	if err != nil || a.padded == a.HeadDim && cuda.Aligned16(x) {
		return x, err
	}
	y, err := a.Scratch(a.number, x.N/a.HeadDim*a.padded)
	if err != nil {
		return y, err
	}
	return y, a.Launch("attention_pad"+x.Suffix(), cuda.Over(y.N, 256),
		y.Arg(), x.Arg(), cuda.Long(y.N), cuda.Int(a.HeadDim), cuda.Int(a.padded))
}

// result returns where the kernels put their output, [..., padded].
func (a *deviceAttention) result() (cuda.Array, error) {
	y := a.Out()
	if a.padded == a.HeadDim && y.Type == a.number && cuda.Aligned16(y) {
		return y, nil
	}
	return a.Scratch(a.number, y.N/a.HeadDim*a.padded)
}

// finish copies the result, if it is elsewhere, to the output.
func (a *deviceAttention) finish(x cuda.Array) error {
	y := a.Out()
	if x.Ptr == y.Ptr {
		return nil
	}
	if a.padded != a.HeadDim {
		unpadded, err := a.Scratch(a.number, y.N)
		if err != nil {
			return err
		}
		err = a.Launch("attention_unpad"+x.Suffix(), cuda.Over(y.N, 256),
			unpadded.Arg(), x.Arg(), cuda.Long(y.N), cuda.Int(a.HeadDim), cuda.Int(a.padded))
		if err != nil {
			return err
		}
		x = unpadded
	}
	return a.CopyTo(y, x)
}

func (k attention) Launch(c *graph.DeviceCall) error {
	positions := k.seq
	if k.cache != nil {
		positions = graph.KV[float32](k.cache).Capacity
	}
	a, err := k.onDevice(c, c.Signature(0), 1, positions)
	if err != nil {
		return err
	}
	qkv, err := a.heads(0)
	if err != nil {
		return err
	}
	out, err := a.result()
	if err != nil {
		return err
	}
	if k.cache != nil {
		err = a.cached(k.cache, out, qkv)
	} else {
		var lse cuda.Array
		if lse, err = c.Saved(&k.saved.device.lse, cuda.F32, a.pairs()*a.Seq); err == nil {
			err = a.forward(out, lse, qkv, deviceCache{})
		}
	}
	if err != nil {
		return err
	}
	return a.finish(out)
}

// forward computes out [tokens, heads, padded] and, if there is one, lse [batch, heads,
// seq] in units of log 2.
func (a *deviceAttention) forward(out, lse, qkv cuda.Array, cache deviceCache) error {
	tile, err := attentionTileOf(a.kernels.forward, a.padded)
	if err != nil {
		return err
	}
	return a.LaunchProduct(tile.name("attention"), tile.grid(a.pairs(), a.Seq, tile.forwardBytes(a.number.Size())),
		append([]cuda.Arg{out.Arg(), lse.Arg(), qkv.Arg()}, a.cacheArgs(cache)...)...)
}

func (k attentionGrad) Launch(c *graph.DeviceCall) error {
	a, err := k.of.onDevice(c, c.Signature(0), 3, k.of.seq)
	if err != nil {
		return err
	}
	var inputs [3]cuda.Array // qkv, o, do
	for i := range inputs {
		if inputs[i], err = a.heads(i); err != nil {
			return err
		}
	}
	dqkv, err := a.result()
	if err != nil {
		return err
	}
	lse, err := c.Saved(&k.of.saved.device.lse, cuda.F32, a.pairs()*a.Seq)
	if err != nil {
		return err
	}
	if err := a.backward(dqkv, inputs[0], inputs[1], inputs[2], lse); err != nil {
		return err
	}
	return a.finish(dqkv)
}

// backward computes dqkv [tokens, heads + 2 kvHeads, padded].
func (a *deviceAttention) backward(dqkv, qkv, out, dout, lse cuda.Array) error {
	tile, err := attentionTileOf(a.kernels.backward, a.padded)
	if err != nil {
		return err
	}
	delta, err := a.deltas(out, dout)
	if err != nil {
		return err
	}
	tileStarts, err := a.tileStarts(tile.columns)
	if err != nil {
		return err
	}
	args := []cuda.Arg{
		dqkv.Arg(), qkv.Arg(), dout.Arg(), lse.Arg(), delta.Arg(), a.starts.Arg(), tileStarts.Arg(), a.slopes.Arg(), a.angles.Arg(),
		cuda.Float(a.Scale), cuda.Int(a.Seq), cuda.Int(a.Heads), cuda.Int(a.KVHeads), cuda.Int(a.padded),
	}
	size := a.number.Size()
	if err := a.LaunchProduct(tile.name("attention_keys"), tile.grid(a.Batch*a.KVHeads, a.Seq, tile.keysBytes(size)), args...); err != nil {
		return err
	}
	return a.LaunchProduct(tile.name("attention_queries"), tile.grid(a.pairs(), a.Seq, tile.queriesBytes(size)), args...)
}

// deltas are do_i.o_i, [batch, heads, seq].
func (a *deviceAttention) deltas(out, dout cuda.Array) (cuda.Array, error) {
	rows := a.pairs() * a.Seq
	delta, err := a.Scratch(cuda.F32, rows)
	if err != nil {
		return delta, err
	}
	return delta, a.Launch("attention_delta"+out.Suffix(), cuda.Over(8*rows, 256),
		delta.Arg(), out.Arg(), dout.Arg(), cuda.Long(rows), cuda.Int(a.Seq), cuda.Int(a.Heads), cuda.Int(a.padded))
}

// tileStarts are the smallest starts of each tile of queries, [batch, tiles]; none without
// starts.
func (a *deviceAttention) tileStarts(tile int) (cuda.Array, error) {
	if a.starts.None() {
		return cuda.Array{}, nil
	}
	tiles := cuda.CeilDiv(a.Seq, tile)
	first, err := a.Scratch(cuda.I32, a.Batch*tiles)
	if err != nil {
		return first, err
	}
	return first, a.Launch("attention_tile_starts", cuda.Grid{X: a.Batch * tiles, Threads: 32},
		first.Arg(), a.starts.Arg(), cuda.Int(a.Seq), cuda.Int(tile), cuda.Int(tiles))
}
