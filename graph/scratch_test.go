package graph

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// allocatedBy returns the bytes that f allocates, garbage included.
func allocatedBy(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// TestAttentionScratch bounds what attention over 8,192 tokens takes beyond its inputs and
// outputs, forward and backward: no 8192 x 8192 matrix exists (it alone has 256 MB).
func TestAttentionScratch(t *testing.T) {
	if testing.Short() {
		t.Skip("30 GFLOP")
	}
	const tokens, headDim = 8192, 64
	p, err := Compile(ProgramOptions{Options: Options{Threads: 2}, Gradients: true, Separate: true}, func(b *Builder) (Roots, error) {
		qkv := b.Param(ParamSpec{Name: "qkv", Shape: []int{tokens, 3, 1, headDim}, Init: Normal(1)})
		o := b.CausalAttention(qkv, AttentionOptions{Heads: 1, Seq: tokens, Scale: 0.125, Slopes: []float64{0.01}, RopeBase: 10000})
		targets := b.Input("targets", tensor.Int32, tokens)
		unembedding := b.Param(ParamSpec{Name: "unembedding", Shape: []int{headDim, 2}, Init: Normal(1)})
		return Roots{Loss: b.CrossEntropy(o, unembedding, targets, LossOptions{})}, nil
	})
	require.NoError(t, err)
	defer p.Close()
	taken := allocatedBy(func() { require.NoError(t, p.Run(RunOptions{})) })
	// o, its gradient from the loss and d(qkv); the loss's own scratch is its logits.
	outputs := 4 * tokens * headDim * (1 + 1 + 3)
	loss := 4 * tokens * 2
	t.Logf("%.1f MB beyond inputs and outputs", float64(taken-outputs-loss)/1e6)
	require.Less(t, taken-outputs, 32_000_000)
}

// TestCrossEntropyScratch bounds what the loss over GPT-2's vocabulary takes beyond inputs
// and gradients: the logits of all tokens alone would have 412 MB.
func TestCrossEntropyScratch(t *testing.T) {
	if testing.Short() {
		t.Skip("100 million exponentials")
	}
	const tokens, vocab, features = 2048, 50257, 8
	p, err := Compile(ProgramOptions{Options: Options{Threads: 2}, Gradients: true, Separate: true}, func(b *Builder) (Roots, error) {
		x := b.Param(ParamSpec{Name: "x", Shape: []int{tokens, features}, Init: Normal(1)})
		w := b.Param(ParamSpec{Name: "w", Shape: []int{features, vocab}, Init: Normal(1)})
		return Roots{Loss: b.CrossEntropy(x, w, b.Input("targets", tensor.Int32, tokens), LossOptions{ZLoss: 1e-4})}, nil
	})
	require.NoError(t, err)
	defer p.Close()
	taken := allocatedBy(func() { require.NoError(t, p.Run(RunOptions{})) }) // the gradients lie in the Store
	t.Logf("%.1f MB beyond inputs and gradients", float64(taken)/1e6)
	require.Less(t, taken, 64_000_000)
}

// TestRunAllocations bounds what one run of a warm Program allocates: a few small objects
// of the tape machine for each node.
func TestRunAllocations(t *testing.T) {
	p := deepProgram(t, ProgramOptions{Options: Options{Threads: 1}, Gradients: true}, 8)
	require.NoError(t, p.Run(RunOptions{}))
	allocations := testing.AllocsPerRun(5, func() {
		if err := p.Run(RunOptions{}); err != nil {
			panic(err)
		}
	})
	t.Logf("%d nodes: %.1f allocations each", p.Nodes(), allocations/float64(p.Nodes()))
	require.Less(t, allocations, float64(6*p.Nodes()))
	require.Less(t, allocatedBy(func() { require.NoError(t, p.Run(RunOptions{})) }), 256*p.Nodes())
}

// deepProgram is a stack of blocks x + W2 gelu(W1 norm(x)) over a vector stream.
func deepProgram(t *testing.T, o ProgramOptions, blocks int) *Program {
	t.Helper()
	p, err := Compile(o, func(b *Builder) (Roots, error) { return deepGraph(b, 6, blocks), b.Err() })
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// deepGraph makes a stack of blocks over tokens "tokens" [tokens], with "targets".
func deepGraph(b *Builder, tokens, blocks int) Roots {
	const width, vocab = 8, 11
	param := func(name string, shape ...int) *gorgonia.Node {
		return b.Param(ParamSpec{Name: name, Shape: shape, Init: Normal(0.3)})
	}
	x := b.Embedding(param("embedding", vocab, width), b.Input("tokens", tensor.Int32, tokens), 1)
	for i := range blocks {
		b.Block(func() {
			name := string(rune('a' + i))
			u := b.Norm(x, param(name+".gain", width), NormOptions{Bias: param(name+".bias", width)})
			h := b.Linear(u, param(name+".w1", width, 4*width), LinearOptions{Bias: param(name+".b1", 4*width)})
			y := b.Linear(b.Gelu(h, false), param(name+".w2", 4*width, width), LinearOptions{})
			x = b.Add(x, b.Dropout(y, 0.1))
		})
	}
	loss := b.CrossEntropy(x, param("unembedding", width, vocab), b.Input("targets", tensor.Int32, tokens), LossOptions{ZLoss: 1e-3})
	return Roots{Loss: loss}
}
