//go:build cuda

package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// lossSizes are those of a CrossEntropy whose logits may take so many bytes (0: the default)
// on the device.
type lossSizes struct {
	tokens, features, vocab, logitBytes int
	options                             LossOptions
}

func (s lossSizes) kind() lossKind {
	k := s.options.kind()
	k.logitBytes = s.logitBytes
	return k
}

func (s lossSizes) opCase(draw func(*rand.Rand, int) int32) opCase {
	w := []int{s.features, s.vocab}
	if s.options.Transposed {
		w = []int{s.vocab, s.features}
	}
	return opCase{floats: [][]int{{s.tokens, s.features}, w}, ints: []intInput{{[]int{s.tokens}, draw}},
		build: func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			return b.Apply(crossEntropy{s.kind(), &lossParts{}}, x[0], x[1], ids[0])
		}}
}

// losses is the same case with the loss of each token.
func (s lossSizes) losses(draw func(*rand.Rand, int) int32) opCase {
	c := s.opCase(draw)
	c.noGradient = true
	c.build = func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
		return b.Apply(tokenLosses{lossKind: s.kind()}, x[0], x[1], ids[0])
	}
	return c
}

// TestDeviceLoss has more tokens than fit into a chunk of logits, and vocabularies that
// fill no whole tile of a row and many of them.
func TestDeviceLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("large vocabularies on the emulator")
	}
	for name, s := range map[string]lossSizes{
		"chunks":            {301, 7, 37, 128 * 40 * 4, LossOptions{ZLoss: 0.1, Scale: 0.3}},
		"chunks of a token": {5, 6, 4097, 1, LossOptions{ZLoss: 0.1}},
		"chunks transposed": {301, 7, 37, 50 * 40 * 4, LossOptions{Transposed: true}},
		"large vocabulary":  {5, 3, 50257, 0, LossOptions{ZLoss: 0.01, Transposed: true}},
		"whole tiles":       {3, 16, 8192, 0, LossOptions{}},
	} {
		t.Run(name, func(t *testing.T) { checkInAllPrecisions(t, s.opCase(belowOrIgnored(s.vocab))) })
		t.Run(name+"/each token", func(t *testing.T) { checkInAllPrecisions(t, s.losses(belowOrIgnored(s.vocab))) })
	}
}

// TestDeviceLossChunks checks how many tokens are taken at a time.
func TestDeviceLossChunks(t *testing.T) {
	for _, c := range []struct{ tokens, stride, bytes, want int }{
		{1, 8, 0, 1},
		{8192, 50264, 0, 1280}, // 7 chunks, of at most 1335
		{300, 40, 128 * 40 * 4, 128},
		{300, 40, 100 * 40 * 4, 100},
		{300, 40, 1, 1},
		{200, 8, 0, 200},
	} {
		require.Equal(t, c.want, lossKind{logitBytes: c.bytes}.chunk(c.tokens, c.stride), c)
	}
}

// TestDeviceLossIgnoresAll has no target to count: losses and gradients are zero.
func TestDeviceLossIgnoresAll(t *testing.T) {
	s := lossSizes{5, 3, 9, 0, LossOptions{ZLoss: 0.1}}
	p := newProbe(t, s.opCase(func(*rand.Rand, int) int32 { return -1 }), Options{Device: CUDA}, false)
	p.run(t, RunOptions{})
	for name, values := range p.tensors(t) {
		require.Equal(t, make([]float64, len(values)), values, name)
	}
}

// TestDeviceLossParts compares the terms of a loss, also of one that another was added to,
// with the CPU's.
func TestDeviceLossParts(t *testing.T) {
	c := lossSizes{301, 7, 37, 0, LossOptions{ZLoss: 0.1}}.opCase(belowOrIgnored(37))
	one := c.build
	c.build = func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
		loss := one(b, x, ids)
		return b.Add(loss, b.Scale(loss, 0.5))
	}
	c.noGradient = true
	var terms [2][2]float64
	for i, o := range []Options{{Threads: 1}, {Device: CUDA, Precision: FP32}} {
		p := newProbe(t, c, o, true)
		p.run(t, RunOptions{})
		ce, z, err := LossParts(p.program.Roots().Outputs[0])
		require.NoError(t, err)
		terms[i] = [2]float64{ce, z}
		require.InEpsilon(t, 1.5*(ce+z), p.output(t)[0], 1e-6)
	}
	require.InEpsilonSlice(t, terms[0][:], terms[1][:], 1e-6)
}

// TestDeviceLossOfBadTarget: a run can't wait to tell of a target beyond the vocabulary;
// the loss is NaN, and whoever reads its terms is told.
func TestDeviceLossOfBadTarget(t *testing.T) {
	s := lossSizes{5, 3, 9, 0, LossOptions{}}
	draw := func(_ *rand.Rand, i int) int32 { return []int32{8, 0, -1, 9, 70}[i] }
	p := newProbe(t, s.opCase(draw), Options{Device: CUDA}, false)
	p.run(t, RunOptions{})
	_, _, err := LossParts(p.program.Roots().Outputs[0])
	require.ErrorContains(t, err, "target at position 3: want less than the vocabulary of 9, got 9")
	require.True(t, math.IsNaN(p.output(t)[0]))
	each := newProbe(t, s.losses(draw), Options{Device: CUDA}, false)
	each.run(t, RunOptions{})
	for i, v := range each.output(t) {
		require.Equal(t, i >= 3, math.IsNaN(v), "token %d: %g", i, v)
	}
	p.c.ints[0].draw = below(9)
	p.run(t, RunOptions{})
	_, _, err = LossParts(p.program.Roots().Outputs[0])
	require.NoError(t, err)
}

// TestDeviceLinear has sizes beyond a tile of the matrix products.
func TestDeviceLinear(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		w := []int{72, 41}
		if transposed {
			w = []int{41, 72}
		}
		c := opCase{floats: [][]int{{67, 72}, w},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return b.Linear(x[0], x[1], LinearOptions{Transposed: transposed, Scale: 0.7})
			}}
		t.Run(fmt.Sprintf("transposed=%t", transposed), func(t *testing.T) { checkInAllPrecisions(t, c) })
		c = opCase{floats: [][]int{{67, 41}, {41, 90}, w},
			build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				_, y := b.LinearGelu(x[0], b.Scale(x[1], 1/math.Sqrt(41)), transposed)
				return b.Linear(y, x[2], LinearOptions{Transposed: transposed})
			}}
		if c.floats[2] = []int{90, 33}; transposed {
			c.floats[2] = []int{33, 90}
		}
		t.Run(fmt.Sprintf("after GELU transposed=%t", transposed), func(t *testing.T) { checkInAllPrecisions(t, c) })
	}
}

// TestDeviceNormLinear has rows, widths and columns that several blocks share, and takes
// over a gradient from elsewhere.
func TestDeviceNormLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("large matrices on the emulator")
	}
	for _, s := range []struct{ rows, width, columns int }{
		{300, 64, 6}, {70, 300, 24}, {33, 257, 80}, {40, 1024, 33}, {1, 129, 32}, {200, 6, 20}, {35, 132, 13},
	} {
		for _, rms := range []bool{false, true} {
			o := NormOptions{RMS: rms}
			c := opCase{floats: [][]int{{s.rows, s.width}, {s.width, s.columns}, {s.width}, {s.width, s.columns}},
				build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
					return b.Add(b.NormLinear(x[0], x[2], x[1], o), b.NormLinear(x[0], nil, x[3], NormOptions{Eps: 1e-2}))
				}}
			t.Run(fmt.Sprintf("%v rms=%t", s, rms), func(t *testing.T) { checkInAllPrecisions(t, c) })
		}
	}
}

// TestDeviceNormLinearOfLargeMean has rows whose mean is far larger than their deviation,
// of which z keeps its digits.
func TestDeviceNormLinearOfLargeMean(t *testing.T) {
	far := make([]float32, 9*300)
	for i := range far {
		far[i] = 3000
	}
	c := opCase{floats: [][]int{{9, 300}, {300, 5}},
		build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			x[0] = b.Add(x[0], b.Apply(weights{weights: far, x: SignatureOf(x[0])}, x[0]))
			return b.NormLinear(x[0], nil, x[1], NormOptions{})
		}}
	want := newProbe(t, c, Options{Threads: 1}, true)
	want.run(t, RunOptions{})
	got := newProbe(t, c, Options{Device: CUDA, Precision: FP32}, true)
	got.run(t, RunOptions{})
	requireClose(t, want.tensors(t), got.tensors(t), 1e-5)
}

// TestDeviceCoefficientsStayFloats checks which outputs keep 32 bits in precision bf16.
func TestDeviceCoefficientsStayFloats(t *testing.T) {
	c := opCase{floats: [][]int{{4, 8}, {8, 3}}, build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		return b.NormLinear(b.Scale(x[0], 2), nil, x[1], NormOptions{})
	}}
	p := newProbe(t, c, Options{Device: CUDA, Precision: BF16}, false)
	require.Equal(t, tensor.Float32, p.program.Roots().Outputs[0].Dtype())
	require.Equal(t, 4, opOf(p.program.Roots().Outputs[0]).storage().Size())
	for _, n := range p.program.Builder().Graph().AllNodes() {
		if op := opOf(n); op != nil {
			if _, ok := op.Primitive.(normLinearGrad); ok {
				require.Equal(t, 2, op.storage().Size(), "the gradient of an activation")
			}
		}
	}
}
