package layers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

func TestALiBiSlopes(t *testing.T) {
	assert.Equal(t, []float64{1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256}, layers.ALiBiSlopes(8))
	assert.Equal(t, []float64{1. / 256}, layers.ALiBiSlopes(1))
	assert.InDeltaSlice(t, []float64{0.157490131, 0.024803141, 0.00390625}, layers.ALiBiSlopes(3), 1e-9) // 2^(-8/3), 2^(-16/3), 2^-8
}

// TestAttention compares with softmax over the visible tokens, computed token by token; hooking the
// pattern changes nothing, and the pattern equals the softmax.
func TestAttention(t *testing.T) {
	const batch, seq, heads, dh = 2, 5, 3, 4
	starts := []int32{0, 0, 2, 2, 2, 0, 1, 1, 1, 4}
	for name, c := range map[string]layers.AttentionConfig{
		"plain": {Heads: heads, Scale: 0.5}, "other scale": {Heads: heads, Scale: 0.11}, "alibi": {Heads: heads, Scale: 0.5, ALiBi: true},
		"rope": {Heads: heads, Scale: 0.5, RopeBase: 50}, "both": {Heads: heads, Scale: 0.5, RopeBase: 50, ALiBi: true},
	} {
		for _, masked := range []bool{false, true} {
			for _, hooks := range []graph.Hooks{nil, {"attention.pattern": nil}} {
				e := compile(t, hooks, func(b *graph.Builder) *gorgonia.Node {
					qkv := b.Input("qkv", tensor.Float64, batch*seq, 3*heads*dh)
					var documents *gorgonia.Node
					if masked {
						documents = b.Input("starts", tensor.Int32, batch, seq)
					}
					return layers.NewAttention(b, "attention", c).Forward(qkv, seq, documents)
				})
				copy(e.Ints("starts"), starts)
				qkv := noise(4, batch*seq*3*heads*dh)
				a := naiveAttention{c, seq, dh, make([]int32, batch*seq)}
				if masked {
					a.starts = starts
				}
				require.InDeltaSlice(t, a.run(qkv), e.on(map[string][]float64{"qkv": qkv}), tolerance, "%s, masked: %t", name, masked)
				if hooks != nil {
					p, err := e.Hooked("attention.pattern")
					require.NoError(t, err)
					require.InDeltaSlice(t, a.pattern(qkv), graph.Float64s(p), tolerance, "%s, masked: %t", name, masked)
				}
			}
		}
	}
}

// TestAttentionPatternReplaced: values are summed with the weights that the hook leaves.
func TestAttentionPatternReplaced(t *testing.T) {
	const seq, heads, dh = 4, 2, 3
	first := func(_ string, p *tensor.Dense) error {
		for i, x := 0, p.Float64s(); i < len(x); i++ {
			x[i] = 0
			if i%seq == 0 {
				x[i] = 1
			}
		}
		return nil
	}
	e := compile(t, graph.Hooks{"attention.pattern": first}, func(b *graph.Builder) *gorgonia.Node {
		return layers.NewAttention(b, "attention", layers.AttentionConfig{Heads: heads, Scale: 0.5}).Forward(b.Input("qkv", tensor.Float64, seq, 3*heads*dh), seq, nil)
	})
	qkv := noise(4, seq*3*heads*dh)
	var want []float64
	for range seq {
		want = append(want, qkv[2*heads*dh:3*heads*dh]...)
	}
	require.InDeltaSlice(t, want, e.on(map[string][]float64{"qkv": qkv}), tolerance, "the first token's values")
}

// TestAttentionPatternWithCache: the error is one line with the reason.
func TestAttentionPatternWithCache(t *testing.T) {
	cache, err := graph.NewCache(1, 4)
	require.NoError(t, err)
	b := graph.On(gorgonia.NewGraph(), graph.Options{Cache: cache, Hooks: graph.Hooks{"attention.pattern": nil}})
	y := layers.NewAttention(b, "attention", layers.AttentionConfig{Heads: 1, Scale: 1}).Forward(b.Input("qkv", tensor.Float32, 1, 6), 1, nil)
	require.Nil(t, y)
	require.EqualError(t, b.Err(), "graph: AttentionPattern: want whole rows, got a cache of earlier tokens: build the graph without Options.Cache")
}

// naiveAttention computes the equation, one query and head at a time.
type naiveAttention struct {
	layers.AttentionConfig
	seq, dh int
	starts  []int32
}

func (a naiveAttention) run(qkv []float64) []float64 {
	var out []float64
	for token := range len(qkv) / (3 * a.Heads * a.dh) {
		for h := range a.Heads {
			out = append(out, a.head(qkv, token, h)...)
		}
	}
	return out
}

// vector returns part 0 (q), 1 (k) or 2 (v) of a token and head, rotated by its position.
func (a naiveAttention) vector(qkv []float64, token, part, h int) []float64 {
	at := token*3*a.Heads*a.dh + part*a.Heads*a.dh + h*a.dh
	x := append([]float64(nil), qkv[at:at+a.dh]...)
	if a.RopeBase == 0 || part == 2 {
		return x
	}
	for i := range a.dh / 2 {
		sin, cos := math.Sincos(float64(token%a.seq) * math.Pow(a.RopeBase, -2*float64(i)/float64(a.dh)))
		x[i], x[i+a.dh/2] = x[i]*cos-x[i+a.dh/2]*sin, x[i]*sin+x[i+a.dh/2]*cos
	}
	return x
}

// weights returns the exponentials of the logits of a token and head, one for each key in its row,
// 0 for keys that it does not see, and their sum.
func (a naiveAttention) weights(qkv []float64, token, h int) (weights []float64, sum float64) {
	i, row := token%a.seq, token/a.seq*a.seq
	q := a.vector(qkv, token, 0, h)
	weights = make([]float64, a.seq)
	for j := int(a.starts[token]); j <= i; j++ {
		logit := 0.0
		for d, k := range a.vector(qkv, row+j, 1, h) {
			logit += a.Scale * q[d] * k
		}
		if a.ALiBi {
			logit -= layers.ALiBiSlopes(a.Heads)[h] * float64(i-j)
		}
		weights[j] = math.Exp(logit)
		sum += weights[j]
	}
	return weights, sum
}

func (a naiveAttention) head(qkv []float64, token, h int) []float64 {
	weights, sum := a.weights(qkv, token, h)
	out := make([]float64, a.dh)
	for j, w := range weights {
		for d, v := range a.vector(qkv, token/a.seq*a.seq+j, 2, h) {
			out[d] += w / sum * v
		}
	}
	return out
}

// pattern returns the softmax, [token, head, key].
func (a naiveAttention) pattern(qkv []float64) []float64 {
	var p []float64
	for token := range len(qkv) / (3 * a.Heads * a.dh) {
		for h := range a.Heads {
			weights, sum := a.weights(qkv, token, h)
			for _, w := range weights {
				p = append(p, w/sum)
			}
		}
	}
	return p
}
