package attention

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// deviceAttention holds the arguments of one attention's kernels.
type deviceAttention struct {
	*graph.DeviceCall
	kernel.AttentionParams
	kernels attentionKernels
	number  cuda.Type // type of q, k, v and of everything computed from them
	padded  int       // size of the heads in the kernels, Dh rounded up to a multiple of 8

	starts cuda.Array // [batch, seq]; the zero Array without starts
	slopes cuda.Array // [heads]; the zero Array without slopes
	angles cuda.Array // [positions, 2, padded/2]: cosines, sines; the zero Array without rotary positions
}

// onDevice prepares a launch for the given number of positions. starts is the number of the input
// with the document starts.
func (k attention) onDevice(c *graph.DeviceCall, qkv graph.Signature, starts, positions int) *deviceAttention {
	a := &deviceAttention{
		DeviceCall: c, AttentionParams: k.params(qkv), kernels: attentionKernelsOf(c.Precision()),
		number: c.Activation(), starts: c.In(starts),
	}
	a.padded = paddedHead(a.HeadDim)
	saved := k.saved
	var host []float32
	if saved.slopes.None() {
		host = narrowed(k.slopes)
	}
	a.slopes = c.Constant(&saved.slopes, host)
	if k.ropeBase == 0 {
		return a
	}
	host = nil
	if k.rope.angles.None() {
		host = ropeAngles(k.ropeBase, k.stretch, a.HeadDim, a.padded, positions)
	}
	a.angles = c.Constant(&k.rope.angles, host)
	return a
}

// narrowed converts x to float32.
func narrowed(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// paddedHead returns the size that the kernels need for heads of dim numbers: half of it must be a
// multiple of 4 (cuda/attention_pad.cu).
func paddedHead(dim int) int { return 2 * (cuda.CeilDiv(cuda.CeilDiv(dim, 2), 4) * 4) }

// ropeAngles returns the cosines and sines of rotary positions (kernel/rope.go), [positions, 2,
// padded/2], for heads of dim numbers that are padded.
func ropeAngles(base float64, stretch kernel.RopeStretch, dim, padded, positions int) []float32 {
	angles := make([]float32, positions*padded)
	for i, turn := range stretch.Turns(base, dim) {
		for p := range positions {
			cos, sin := stretch.Rotation(turn, p)
			angles[p*padded+i], angles[p*padded+padded/2+i] = float32(cos), float32(sin)
		}
	}
	return angles
}

// pairs returns the number of (row, head) pairs.
func (a *deviceAttention) pairs() int { return a.Batch * a.Heads }

// heads returns input i, [..., dim], with its heads padded.
func (a *deviceAttention) heads(i int) cuda.Array {
	x := a.InAs(i, a.number)
	if a.padded == a.HeadDim && cuda.Aligned16(x) {
		return x
	}
	y := a.Scratch(a.number, x.N/a.HeadDim*a.padded)
	a.Launch("attention_pad"+x.Suffix(), cuda.Over(y.N, 256),
		y, x, cuda.Long(y.N), cuda.Ints(a.HeadDim, a.padded))
	return y
}

// result returns the memory for the kernels' output, [..., padded].
func (a *deviceAttention) result() cuda.Array {
	y := a.Out()
	if a.padded == a.HeadDim && y.Type == a.number && cuda.Aligned16(y) {
		return y
	}
	return a.Scratch(a.number, y.N/a.HeadDim*a.padded)
}

// finish copies the result into the output if it lies elsewhere.
func (a *deviceAttention) finish(x cuda.Array) {
	y := a.Out()
	if x.Ptr == y.Ptr {
		return
	}
	if a.padded != a.HeadDim {
		unpadded := a.Scratch(a.number, y.N)
		a.Launch("attention_unpad"+x.Suffix(), cuda.Over(y.N, 256),
			unpadded, x, cuda.Long(y.N), cuda.Ints(a.HeadDim, a.padded))
		x = unpadded
	}
	a.CopyTo(y, x)
}

func (k attention) Launch(c *graph.DeviceCall) {
	positions := k.seq
	if k.cache != nil {
		positions = graph.KV[float32](k.cache).Capacity
	}
	a := k.onDevice(c, c.Signature(0), 1, positions)
	qkv := a.heads(0)
	out := a.result()
	if k.cache != nil {
		a.cached(k.cache, out, qkv)
	} else {
		a.forward(out, a.lse(k), qkv, deviceCache{})
	}
	a.finish(out)
}

// lse returns the memory of the log-sum-exps.
func (a *deviceAttention) lse(k attention) cuda.Array {
	return a.Saved(&k.saved.lse.Device, cuda.F32, a.pairs()*a.Seq)
}

// forward computes out [tokens, heads, padded] and, unless lse is the zero Array, lse [batch,
// heads, seq] in base 2.
func (a *deviceAttention) forward(out, lse, qkv cuda.Array, cache deviceCache) {
	tile := a.tile(a.kernels.forward)
	a.LaunchProduct(tile.name("attention"), tile.grid(a.pairs(), a.Seq, tile.forwardBytes(a.number.Size())),
		out, lse, qkv, a.cacheArgs(cache))
}

func (k attentionGrad) Launch(c *graph.DeviceCall) {
	a := k.of.onDevice(c, c.Signature(0), 3, k.of.seq)
	qkv, out, dout, dqkv := a.heads(0), a.heads(1), a.heads(2), a.result()
	a.backward(dqkv, qkv, out, dout, a.lse(k.of))
	a.finish(dqkv)
}

// backward computes dqkv [tokens, heads + 2 kvHeads, padded].
func (a *deviceAttention) backward(dqkv, qkv, out, dout, lse cuda.Array) {
	queries, keys := a.tile(a.kernels.queries), a.tile(a.kernels.keys)
	delta := a.Scratch(cuda.F32, a.pairs()*a.Seq) // do_i.o_i, which the first kernel computes for the second
	args := cuda.Args{
		dqkv, qkv, out, dout, lse, delta, a.starts, a.tileStarts(keys.columns), a.slopes, a.angles,
		cuda.Float(a.Scale), cuda.Ints(a.Seq, a.Heads, a.KVHeads, a.padded),
	}
	size := a.number.Size()
	a.LaunchProduct(queries.name("attention_queries"), queries.grid(a.pairs(), a.Seq, queries.queriesBytes(size)), args)
	a.LaunchProduct(keys.name("attention_keys"), keys.grid(a.Batch*a.KVHeads, a.Seq, keys.keysBytes(size)), args)
}

// tileStarts returns the smallest start in each tile of queries, [batch, tiles]; the zero Array
// without starts.
func (a *deviceAttention) tileStarts(tile int) cuda.Array {
	if a.starts.None() {
		return cuda.Array{}
	}
	tiles := cuda.CeilDiv(a.Seq, tile)
	first := a.Scratch(cuda.I32, a.Batch*tiles)
	a.Launch("attention_tile_starts", cuda.Grid{X: a.Batch * tiles, Threads: 32},
		first, a.starts, cuda.Ints(a.Seq, tile, tiles))
	return first
}
