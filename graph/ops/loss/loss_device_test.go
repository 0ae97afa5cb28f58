//go:build cuda

package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

// lossSizes are the sizes of a CrossEntropy and the bytes that its logits may take on the device
// (0: the default).
type lossSizes struct {
	tokens, features, vocab, logitBytes int
	options                             Options
}

func (s lossSizes) kind() lossConfig {
	k := s.options.config()
	k.logitBytes = s.logitBytes
	return k
}

func (s lossSizes) opCase(draw func(*rand.Rand, int) int32) optest.Case {
	w := []int{s.features, s.vocab}
	if s.options.Transposed {
		w = []int{s.vocab, s.features}
	}
	return optest.Case{Floats: [][]int{{s.tokens, s.features}, w}, Ints: []optest.IntInput{{Shape: []int{s.tokens}, Draw: draw}},
		Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			return b.Apply(crossEntropy{s.kind(), &lossParts{}}, x[0], x[1], ids[0])
		}}
}

// losses returns the same case with the loss of each token.
func (s lossSizes) losses(draw func(*rand.Rand, int) int32) optest.Case {
	c := s.opCase(draw)
	c.NoGradient = true
	c.Build = func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
		return b.Apply(tokenLosses{lossConfig: s.kind()}, x[0], x[1], ids[0])
	}
	return c
}

// TestDeviceLoss has more tokens than fit into a chunk of logits, and vocabularies both smaller
// than a tile of a row and of many tiles.
func TestDeviceLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("large vocabularies on the emulator")
	}
	for name, s := range map[string]lossSizes{
		"chunks":            {301, 7, 37, 128 * 64 * 4, Options{ZLoss: 0.1, Scale: 0.3}},
		"chunks of a token": {5, 6, 4097, 1, Options{ZLoss: 0.1}},
		"chunks transposed": {301, 7, 37, 50 * 64 * 4, Options{Transposed: true}},
		"chunks aligned":    {301, 7, 40, 50 * 64 * 4, Options{Scale: 0.3}},
		"large vocabulary":  {5, 3, 50257, 0, Options{ZLoss: 0.01, Transposed: true}},
		"whole tiles":       {3, 16, 8192, 0, Options{}},
	} {
		t.Run(name, func(t *testing.T) { optest.CheckInAllPrecisions(t, s.opCase(optest.BelowOrIgnored(s.vocab))) })
		t.Run(name+"/each token", func(t *testing.T) { optest.CheckInAllPrecisions(t, s.losses(optest.BelowOrIgnored(s.vocab))) })
	}
}

// TestDeviceLossChunks checks how many tokens are taken at a time.
func TestDeviceLossChunks(t *testing.T) {
	for _, c := range []struct{ tokens, stride, bytes, want int }{
		{1, 8, 0, 1},
		{8192, 50304, 0, 2048}, // 4 chunks of at most 2667 tokens
		{300, 40, 128 * 40 * 4, 128},
		{300, 40, 100 * 40 * 4, 100},
		{300, 40, 1, 1},
		{200, 8, 0, 200},
	} {
		require.Equal(t, c.want, lossConfig{logitBytes: c.bytes}.chunk(c.tokens, c.stride, cuda.F32), c)
	}
}

// TestDeviceLossIgnoresAll has no target to count: losses and gradients are zero.
func TestDeviceLossIgnoresAll(t *testing.T) {
	s := lossSizes{5, 3, 9, 0, Options{ZLoss: 0.1}}
	p := optest.NewProbe(t, s.opCase(func(*rand.Rand, int) int32 { return -1 }), graph.Options{Device: graph.CUDA}, false)
	p.Run(t, graph.RunOptions{})
	for name, values := range p.Tensors(t) {
		require.Equal(t, make([]float64, len(values)), values, name)
	}
}

// TestDeviceLossParts compares the terms of a loss with those on the CPU, also for a loss to which
// another was added.
func TestDeviceLossParts(t *testing.T) {
	c := lossSizes{301, 7, 37, 0, Options{ZLoss: 0.1}}.opCase(optest.BelowOrIgnored(37))
	one := c.Build
	c.Build = func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
		loss := one(b, x, ids)
		return b.Add(loss, elementwise.Scale(b, loss, 0.5))
	}
	c.NoGradient = true
	var terms [2][2]float64
	for i, o := range []graph.Options{{Threads: 1}, {Device: graph.CUDA, Precision: graph.FP32}} {
		p := optest.NewProbe(t, c, o, true)
		p.Run(t, graph.RunOptions{})
		ce, z, err := Parts(p.Program.Roots().Outputs[0])
		require.NoError(t, err)
		terms[i] = [2]float64{ce, z}
		require.InEpsilon(t, 1.5*(ce+z), p.Output(t)[0], 1e-6)
	}
	require.InEpsilonSlice(t, terms[0][:], terms[1][:], 1e-6)
}

// TestDeviceLossOfBadTarget: a run does not wait to report a target beyond the vocabulary; the loss
// is NaN, and reading its terms gives the error.
func TestDeviceLossOfBadTarget(t *testing.T) {
	s := lossSizes{5, 3, 9, 0, Options{}}
	draw := func(_ *rand.Rand, i int) int32 { return []int32{8, 0, -1, 9, 70}[i] }
	p := optest.NewProbe(t, s.opCase(draw), graph.Options{Device: graph.CUDA}, false)
	p.Run(t, graph.RunOptions{})
	_, _, err := Parts(p.Program.Roots().Outputs[0])
	require.ErrorContains(t, err, "target at position 3: want less than the vocabulary of 9, got 9")
	require.True(t, math.IsNaN(p.Output(t)[0]))
	each := optest.NewProbe(t, s.losses(draw), graph.Options{Device: graph.CUDA}, false)
	each.Run(t, graph.RunOptions{})
	for i, v := range each.Output(t) {
		require.Equal(t, i >= 3, math.IsNaN(v), "token %d: %g", i, v)
	}
	p.C.Ints[0].Draw = optest.Below(9)
	p.Run(t, graph.RunOptions{})
	_, _, err = Parts(p.Program.Roots().Outputs[0])
	require.NoError(t, err)
}
