package attention

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
)

func attentionCases() []optest.Case {
	make := attentionCase
	return []optest.Case{
		make("one head", 1, false, 3, Options{Heads: 1, Seq: 5, Scale: 0.6}),
		make("one token", 1, false, 2, Options{Heads: 3, Seq: 1, Scale: 0.7}),
		make("heads and rows", 2, false, 5, Options{Heads: 3, Seq: 3, Scale: 0.3}),
		make("alibi", 2, false, 3, Options{Heads: 2, Seq: 5, Scale: 0.5, Slopes: []float64{0.5, 0.0625}}),
		make("rope", 2, false, 4, Options{Heads: 2, Seq: 5, Scale: 0.5, RopeBase: 100}),
		make("stretched rope", 2, false, 4, Options{Heads: 2, Seq: 5, Scale: 0.5, RopeBase: 100, Stretch: kernel.RopeStretch{Rates: []float64{0.5, 0.25}, Amplitude: 1.25}}),
		make("starts", 2, true, 3, Options{Heads: 2, Seq: 7, Scale: 0.5}),
		make("everything", 2, true, 2, Options{Heads: 3, Seq: 5, Scale: 0.5, Slopes: []float64{1, 0.5, 0.25}, RopeBase: 10000}),
		make("grouped", 2, true, 4, Options{Heads: 6, KVHeads: 2, Seq: 5, Scale: 0.5, RopeBase: 100}),
		make("one head of keys", 1, false, 3, Options{Heads: 4, KVHeads: 1, Seq: 70, Scale: 0.5}),
		make("more than a block", 1, true, 2, Options{Heads: 1, Seq: 67, Scale: 0.5}),
	}
}

// windowCases returns cases with a window, which run only on the CPU.
func windowCases() []optest.Case {
	return []optest.Case{
		attentionCase("window", 2, false, 3, Options{Heads: 2, Seq: 7, Scale: 0.5, Slopes: []float64{0.5, 0.25}, Window: 3}),
		attentionCase("window and sinks", 2, true, 4, Options{Heads: 4, KVHeads: 2, Seq: 9, Scale: 0.5, RopeBase: 100, Window: 2, Sinks: 2}),
		attentionCase("window over a block", 1, false, 2, Options{Heads: 1, Seq: 90, Scale: 0.5, Window: 3, Sinks: 1}),
	}
}

// attentionCase returns a case of one attention, with document starts if masked.
func attentionCase(name string, batch int, masked bool, headDim int, o Options) optest.Case {
	tokens := batch * o.Seq
	c := optest.Case{Name: "CausalAttention/" + name, MayBeNil: []int{1}, Floats: [][]int{{tokens, o.packedHeads(), headDim}},
		Build: func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			o := o
			if masked {
				o.Starts = ids[0]
			}
			return Causal(b, x[0], o)
		},
		Want: func(x [][]float64, ids [][]int32) []float64 {
			var starts []int32
			if masked {
				starts = ids[0]
			}
			return wantAttention(x[0], starts, batch, headDim, o)
		}}
	if masked {
		c.Ints = []optest.IntInput{{Shape: []int{batch, o.Seq}, Draw: optest.StartsOf(o.Seq)}}
	}
	return c
}

// tokenCases returns the cases of ops on Int32.
func tokenCases() []optest.Case {
	const bos = 2
	return []optest.Case{
		{Name: "Positions", Ints: []optest.IntInput{{Shape: []int{3, 5}, Draw: optest.Below(9)}}, NoGradient: true,
			Build: func(b *graph.Builder, _, ids gorgonia.Nodes) *gorgonia.Node { return Positions(b, ids[0]) },
			Want: func(_ [][]float64, ids [][]int32) []float64 {
				positions := make([]float64, len(ids[0]))
				for i := range positions {
					positions[i] = float64(i % 5)
				}
				return positions
			}},
		{Name: "DocumentStarts", Ints: []optest.IntInput{{Shape: []int{3, 11}, Draw: optest.Below(4)}}, NoGradient: true,
			Build: func(b *graph.Builder, _, ids gorgonia.Nodes) *gorgonia.Node { return DocumentStarts(b, ids[0], bos, 0) },
			Want:  func(_ [][]float64, ids [][]int32) []float64 { return wantStarts(ids[0], 11, bos, 0) }},
		{Name: "DocumentStarts with a separator", Ints: []optest.IntInput{{Shape: []int{3, 11}, Draw: optest.Below(4)}}, NoGradient: true,
			Build: func(b *graph.Builder, _, ids gorgonia.Nodes) *gorgonia.Node { return DocumentStarts(b, ids[0], bos, 3) },
			Want:  func(_ [][]float64, ids [][]int32) []float64 { return wantStarts(ids[0], 11, bos, 3) }},
	}
}

// kv returns the number of heads of keys and values.
func (o Options) kv() int {
	if o.KVHeads == 0 {
		return o.Heads
	}
	return o.KVHeads
}

// packedHeads returns the number of heads of packed queries, keys and values.
func (o Options) packedHeads() int { return o.Heads + 2*o.kv() }

// packedHead returns the index, among the packed heads, of what query head h uses: 0 its query, 1
// its key, 2 its value.
func (o Options) packedHead(which, h int) int {
	if which == 0 {
		return h
	}
	return o.Heads + (which-1)*o.kv() + h/(o.Heads/o.kv())
}

// wantAttention takes qkv [batch*seq, heads + 2 kvHeads, headDim].
func wantAttention(qkv []float64, starts []int32, batch, headDim int, o Options) []float64 {
	part := func(which, row, i, head int) []float64 {
		v := qkv[((row*o.Seq+i)*o.packedHeads()+o.packedHead(which, head))*headDim:][:headDim]
		if which < 2 && o.RopeBase != 0 {
			return wantRotation(v, i, o)
		}
		return v
	}
	var out []float64
	for row := range batch {
		for i := range o.Seq {
			first := 0
			if starts != nil {
				first = int(starts[row*o.Seq+i])
			}
			for head := range o.Heads {
				sum, total := make([]float64, headDim), 0.0
				for j := first; j <= i; j++ {
					if o.Window > 0 && j <= i-o.Window && j >= first+o.Sinks {
						continue
					}
					q, k, v := part(0, row, i, head), part(1, row, j, head), part(2, row, j, head)
					logit := 0.0
					for d := range headDim {
						logit += o.Scale * q[d] * k[d]
					}
					if o.SoftCap > 0 {
						logit = o.SoftCap * math.Tanh(logit/o.SoftCap)
					}
					if o.Slopes != nil {
						logit -= o.Slopes[head] * float64(i-j)
					}
					weight := math.Exp(logit)
					total += weight
					for d := range headDim {
						sum[d] += weight * v[d]
					}
				}
				out = append(out, optest.WantScale(sum, 1/total)...)
			}
		}
	}
	return out
}

// wantRotation turns the pairs (d, d + half) of a head by position*base^(-2d/headDim), stretched.
func wantRotation(v []float64, position int, o Options) []float64 {
	half := len(v) / 2
	turned := make([]float64, len(v))
	for d := range half {
		angle := float64(position) * math.Pow(o.RopeBase, -2*float64(d)/float64(len(v)))
		if o.Stretch.Rates != nil {
			angle *= o.Stretch.Rates[d]
		}
		sin, cos := math.Sincos(angle)
		turned[d] = v[d]*cos - v[d+half]*sin
		turned[d+half] = v[d+half]*cos + v[d]*sin
	}
	if o.Stretch.Amplitude != 0 {
		return optest.WantScale(turned, o.Stretch.Amplitude)
	}
	return turned
}

// wantStarts finds document starts: a document begins at a BOS that does not follow a BOS.
func wantStarts(tokens []int32, seq int, bos, separator int32) []float64 {
	var starts []float64
	start := 0
	for i, id := range tokens {
		if i%seq == 0 {
			start = 0
		}
		if id == bos && (i%seq == 0 || tokens[i-1] != bos) {
			start = i % seq
		} else if separator > 0 && i%seq > 0 && tokens[i-1] == separator {
			start = i%seq - 1
		}
		starts = append(starts, float64(start))
	}
	return starts
}

// TestAttentionScratch bounds the memory that attention over 8,192 tokens takes in addition to its
// inputs and outputs, forward and backward: an 8192 x 8192 matrix alone would take 256 MB.
func TestAttentionScratch(t *testing.T) {
	if testing.Short() {
		t.Skip("30 GFLOP")
	}
	const tokens, headDim = 8192, 64
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2}, Gradients: true, Separate: true}, func(b *graph.Builder) (graph.Roots, error) {
		qkv := b.Param(graph.ParamSpec{Name: "qkv", Shape: []int{tokens, 3, 1, headDim}, Init: graph.Normal(1)})
		o := Causal(b, qkv, Options{Heads: 1, Seq: tokens, Scale: 0.125, Slopes: []float64{0.01}, RopeBase: 10000})
		targets := b.Input("targets", tensor.Int32, tokens)
		unembedding := b.Param(graph.ParamSpec{Name: "unembedding", Shape: []int{headDim, 2}, Init: graph.Normal(1)})
		return graph.Roots{Loss: loss.CrossEntropy(b, o, unembedding, targets, loss.Options{})}, nil
	})
	require.NoError(t, err)
	defer p.Close()
	taken := optest.AllocatedBy(func() { require.NoError(t, p.Run(graph.RunOptions{})) })
	// o, its gradient from the loss and d(qkv); the loss's own scratch holds its logits.
	outputs := 4 * tokens * headDim * (1 + 1 + 3)
	loss := 4 * tokens * 2
	t.Logf("%.1f MB beyond inputs and outputs", float64(taken-outputs-loss)/1e6)
	require.Less(t, taken-outputs, 32_000_000)
}
