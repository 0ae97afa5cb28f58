package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// floatRows returns rows of floats.
func floatRows[T Float](list [][]T) []Rows[T] {
	rows := make([]Rows[T], len(list))
	for i, x := range list {
		rows[i] = Of(x)
	}
	return rows
}

// halfRows are tensors with which a kernel runs twice: in bfloat16, and as floats of the same
// values.
type halfRows struct {
	r      *rand.Rand
	halves bool
	made   [][]float32  // results of the run with floats, to be rounded
	stored [][]BFloat16 // results of the run with bfloat16
}

// in makes an input with random values.
func (h *halfRows) in(n int) Rows[float32] {
	x := make([]BFloat16, n)
	for i := range x {
		x[i] = toBFloat16(float32(h.r.NormFloat64()))
	}
	return h.of(x)
}

func (h *halfRows) of(x []BFloat16) Rows[float32] {
	if h.halves {
		return OfBFloat16[float32](x)
	}
	wide := make([]float32, len(x))
	widenBFloat16(machinePath, wide, x)
	return Of(wide)
}

// out makes an output.
func (h *halfRows) out(n int) Rows[float32] {
	return h.kept(h.of(make([]BFloat16, n)))
}

// kept makes an input that the kernel overwrites.
func (h *halfRows) kept(x Rows[float32]) Rows[float32] {
	h.made, h.stored = append(h.made, x.floats), append(h.stored, x.halves)
	return x
}

// floats makes an input or output that is floats in both runs.
func (h *halfRows) floats(n int) []float32 {
	x := uniformSlice[float32](h.r, n)
	h.made, h.stored = append(h.made, x), append(h.stored, nil)
	return x
}

// requireHalfRows runs a kernel with rows of bfloat16 and with floats of the same values, on every
// path and with one to three threads, and checks that the bits are the same once the floats are
// rounded.
func requireHalfRows(t *testing.T, run func(h *halfRows, path path, p *Pool)) {
	forEachPath[float32](t, func(t *testing.T, path path) {
		for threads := 1; threads <= 3; threads++ {
			p := NewPool(threads)
			want, got := halfRows{r: rand.New(rand.NewPCG(5, 6))}, halfRows{r: rand.New(rand.NewPCG(5, 6)), halves: true}
			run(&want, path, p)
			run(&got, path, p)
			require.Len(t, got.made, len(want.made))
			for i, x := range want.made {
				if got.stored[i] == nil {
					requireSameFloats(t, x, got.made[i], i)
					continue
				}
				rounded := make([]BFloat16, len(x))
				RoundBFloat16(rounded, x)
				require.Equal(t, rounded, got.stored[i], "%d", i)
				require.True(t, slices.ContainsFunc(rounded, func(x BFloat16) bool { return x != 0 }))
			}
			p.Close()
		}
	})
}

// TestNormOfHalfRows also runs with an addend, in place, and without dx.
func TestNormOfHalfRows(t *testing.T) {
	for _, d := range []NormParams{{Rows: 70, Width: 37, Eps: 1e-6}, {Rows: 6, Width: 64, Eps: 1e-6, RMS: true, Groups: 2}} {
		requireHalfRows(t, func(h *halfRows, path path, p *Pool) {
			k := Norm[float32]{path: path}
			n, gains := d.Rows*d.Width, d.groups()*d.Width
			x, gain, bias, mean, rstd := h.in(n), h.floats(gains), h.floats(gains), h.floats(d.Rows), h.floats(d.Rows)
			k.Forward(p, h.out(n), x, gain, bias, mean, rstd, d)
			dgain, dbias, dy := h.floats(gains), h.floats(gains), h.in(n)
			k.Backward(p, h.out(n), Rows[float32]{}, dgain, dbias, dy, x, gain, mean, rstd, false, d)
			addend := h.kept(h.in(n))
			k.Backward(p, addend, addend, nil, nil, dy, x, gain, mean, rstd, false, d)
			k.Backward(p, Rows[float32]{}, Rows[float32]{}, dgain, nil, dy, x, gain, mean, rstd, true, d)
			y := h.kept(h.in(n))
			k.Forward(p, y, y, gain, nil, mean, rstd, d)
		})
	}
}

// TestStreamOfHalfRows reads and writes a matrix stream, normalised and not.
func TestStreamOfHalfRows(t *testing.T) {
	const tokens, r, dk, dv = 67, 5, 12, 18
	d := NormReadParams{Tokens: tokens, R: r, Dk: dk, Dv: dv, Eps: 1e-6}
	requireHalfRows(t, func(h *halfRows, path path, p *Pool) {
		x, y, keys, gain := h.in(tokens*dk*dv), h.in(tokens*r*dv), h.floats(r*dk), h.floats(dk*dv)
		(&Read[float32]{path: path}).Run(p, h.out(tokens*r*dv), keys, x, tokens, r, dk, dv)
		(&Write[float32]{path: path}).Run(p, h.out(tokens*dk*dv), x, keys, y, tokens, r, dk, dv)
		(&Write[float32]{path: path}).Run(p, h.out(tokens*dk*dv), Rows[float32]{}, keys, y, tokens, r, dk, dv)
		(&WriteGrad[float32]{path: path}).Run(p, h.out(tokens*r*dv), h.floats(r*dk), x, keys, y, tokens, r, dk, dv, true)
		newKeysGrad[float32](path).Run(p, h.floats(r*dk), y, x, tokens, r, dk, dv, false)
		mean, rstd, k := h.floats(tokens), h.floats(tokens), NormRead[float32]{path: path}
		k.Forward(p, h.out(tokens*r*dv), x, gain, keys, mean, rstd, d)
		k.Backward(p, h.out(tokens*dk*dv), Rows[float32]{}, h.floats(dk*dv), h.floats(r*dk), y, x, gain, keys, mean, rstd, false, false, d)
		addend := h.kept(h.in(tokens * dk * dv))
		k.Backward(p, addend, addend, nil, nil, y, x, gain, keys, mean, rstd, false, false, d)
	})
}

// TestAddOfHalfRows sums bfloat16 into bfloat16, with and without an input in place, and into
// floats.
func TestAddOfHalfRows(t *testing.T) {
	const n = 3*addBlock + 21
	for count := 1; count <= 5; count++ {
		requireHalfRows(t, func(h *halfRows, path path, p *Pool) {
			k := Add[float32]{path: path}
			var inputs []Rows[float32]
			for range count {
				inputs = append(inputs, h.in(n))
			}
			k.Run(p, h.out(n), inputs, false)
			k.Run(p, Of(h.floats(n)), inputs, true)
			inputs[0] = h.kept(h.in(n))
			k.Run(p, inputs[0], inputs, false)
		})
	}
}

// TestAttentionOfHalfRows has heads that share keys, rotary positions and documents, with whole
// pairs and split ones.
func TestAttentionOfHalfRows(t *testing.T) {
	for _, d := range []AttentionParams{
		{Batch: 1, Seq: 101, Heads: 3, HeadDim: 32, Scale: 0.2},
		{Batch: 2, Seq: 65, Heads: 4, KVHeads: 2, HeadDim: 10, Scale: 0.3, RopeBase: 10000},
		{Batch: 1, Seq: 90, Heads: 6, KVHeads: 1, HeadDim: 16, Scale: 0.3, RopeBase: 10000, Window: 20, Sinks: 2},
	} {
		starts := make([]int32, d.Batch*d.Seq)
		for i := range starts {
			starts[i] = int32(i % d.Seq / 40 * 40)
		}
		requireHalfRows(t, func(h *halfRows, path path, p *Pool) {
			a := Attention[float32]{path: path}
			tokens := d.Batch * d.Seq
			out, lse, qkv := h.out(tokens*d.Heads*d.HeadDim), h.floats(d.Batch*d.Heads*d.Seq), h.in(tokens*d.packedWidth())
			a.Forward(p, out, lse, qkv, starts, d)
			if out.floats != nil { // Backward reads what is stored
				for i, x := range out.floats {
					out.floats[i] = toBFloat16(x).Float32()
				}
			}
			a.Backward(p, h.out(tokens*d.packedWidth()), qkv, out, h.in(tokens*d.Heads*d.HeadDim), lse, starts, d)
		})
	}
}

// TestHalfRowsAllocateNothing after a first call.
func TestHalfRowsAllocateNothing(t *testing.T) {
	p, h := NewPool(2), halfRows{r: rand.New(rand.NewPCG(1, 2)), halves: true}
	d := NormParams{Rows: 40, Width: 48, Eps: 1e-6}
	n := d.Rows * d.Width
	x, y, gain, mean := h.in(n), h.out(n), h.floats(d.Width), h.floats(d.Rows)
	var norm Norm[float32]
	var add Add[float32]
	inputs := []Rows[float32]{x, y, x}
	requireNoAllocations(t, func() {
		norm.Forward(p, y, x, gain, nil, mean, mean, d)
		norm.Backward(p, y, y, nil, nil, x, x, gain, mean, mean, false, d)
		add.Run(p, y, inputs, false)
	})
	require.False(t, math.IsNaN(float64(y.halves[0].Float32())))
}
