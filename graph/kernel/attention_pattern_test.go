package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runPattern runs AttentionPattern.Forward into a slice full of NaN.
func runPattern[T Float](t *testing.T, threads int, c attentionCase, qkv []float64) []T {
	t.Helper()
	p := NewPool(threads)
	defer p.Close()
	var a AttentionPattern[T]
	prob := fullOfNaN[T](c.Batch * c.Seq * c.Heads * c.Seq)
	a.Forward(p, prob, castTo[T](qkv), c.starts, c.AttentionParams)
	return prob
}

// byQuery reorders [batch, heads, seq, seq] to [batch*seq, heads, seq].
func (c attentionCase) byQuery(pattern []float64) []float64 {
	var y []float64
	for row := range c.Batch {
		for i := range c.Seq {
			for head := range c.Heads {
				y = append(y, pattern[((row*c.Heads+head)*c.Seq+i)*c.Seq:][:c.Seq]...)
			}
		}
	}
	return y
}

// TestAttentionPatternEqualsReference: the probabilities equal those computed from the definition,
// and are exactly 0 where a query sees nothing.
func TestAttentionPatternEqualsReference(t *testing.T) {
	for _, c := range attentionCases() {
		t.Run(c.String(), func(t *testing.T) {
			qkv := c.randomQKV(1)
			want := c.byQuery(c.reference(qkv, c.randomOut(2)).prob)
			got, single := runPattern[float64](t, 1, c, qkv), runPattern[float32](t, 2, c, qkv)
			assert.Less(t, worstError(got, want), 1e-12)
			assert.Less(t, worstError(single, want), 2e-6)
			for at, p := range want {
				if p == 0 && (got[at] != 0 || single[at] != 0) {
					t.Fatalf("entry %d: want 0, got %g and %g", at, got[at], single[at])
				}
			}
		})
	}
}

// patternResult holds what pattern, mix and their gradients wrote.
type patternResult[T Float] struct {
	prob, out, dprob, dqkv []T
}

// runPatternAndMix runs both kernels forward and backward into slices full of NaN; dqkv is
// the sum of the two parts.
func runPatternAndMix[T Float](t *testing.T, threads int, c attentionCase, qkv, dout []float64) patternResult[T] {
	t.Helper()
	p := NewPool(threads)
	defer p.Close()
	r := patternResult[T]{prob: runPattern[T](t, threads, c, qkv), out: fullOfNaN[T](len(dout)), dqkv: fullOfNaN[T](len(qkv))}
	r.dprob = fullOfNaN[T](len(r.prob))
	x, dy, values := castTo[T](qkv), castTo[T](dout), fullOfNaN[T](len(qkv))
	var a AttentionPattern[T]
	var m AttentionMix[T]
	m.Forward(p, r.out, r.prob, x, c.AttentionParams)
	m.GradPattern(p, r.dprob, dy, x, c.AttentionParams)
	m.GradValues(p, values, r.prob, dy, c.AttentionParams)
	a.Backward(p, r.dqkv, x, r.prob, r.dprob, c.starts, c.AttentionParams)
	for i, v := range values {
		r.dqkv[i] += v
	}
	return r
}

// TestAttentionPatternAndMixAreAttention: outputs and gradients equal those of Attention, which
// keeps no pattern.
func TestAttentionPatternAndMixAreAttention(t *testing.T) {
	for _, c := range attentionCases() {
		t.Run(c.String(), func(t *testing.T) {
			qkv, dout := c.randomQKV(1), c.randomOut(2)
			want := c.reference(qkv, dout)
			got, single := runPatternAndMix[float64](t, 1, c, qkv, dout), runPatternAndMix[float32](t, 2, c, qkv, dout)
			assert.Less(t, worstError(got.out, want.out), 1e-12, "out")
			assert.Less(t, worstError(got.dqkv, want.dqkv), 1e-12, "dqkv")
			assert.Less(t, worstError(single.out, want.out), 2e-6, "out")
			assert.Less(t, worstError(single.dqkv, want.dqkv), 2e-6, "dqkv")
		})
	}
}

// TestAttentionMixSeesEveryKey: a pattern may give weight to keys that attention does not see.
func TestAttentionMixSeesEveryKey(t *testing.T) {
	c := newAttentionCase(2, 9, 3, 5, false, 0, false)
	pattern, qkv, dout := gaussians(3, c.Batch*c.Seq*c.Heads*c.Seq), c.randomQKV(1), c.randomOut(2)
	p := NewPool(2)
	defer p.Close()
	var m AttentionMix[float64]
	out, dpattern, dqkv := fullOfNaN[float64](len(dout)), fullOfNaN[float64](len(pattern)), fullOfNaN[float64](len(qkv))
	m.Forward(p, out, pattern, qkv, c.AttentionParams)
	m.GradPattern(p, dpattern, dout, qkv, c.AttentionParams)
	m.GradValues(p, dqkv, pattern, dout, c.AttentionParams)
	wantOut, wantPattern, wantQKV := make([]float64, len(out)), make([]float64, len(pattern)), make([]float64, len(qkv))
	for at := range pattern {
		query, head, key := at/c.Seq/c.Heads, at/c.Seq%c.Heads, at/c.Seq/c.Heads/c.Seq*c.Seq+at%c.Seq
		value := c.at(0, key, 2, head)
		for d := range c.HeadDim {
			o := query*c.width() + head*c.HeadDim + d
			wantOut[o] += pattern[at] * qkv[value+d]
			wantPattern[at] += dout[o] * qkv[value+d]
			wantQKV[value+d] += pattern[at] * dout[o]
		}
	}
	assert.InDeltaSlice(t, wantOut, out, 1e-12)
	assert.InDeltaSlice(t, wantPattern, dpattern, 1e-12)
	assert.InDeltaSlice(t, wantQKV, dqkv, 1e-12)
}

func TestAttentionPatternHasTheSameBitsForAnyThreads(t *testing.T) {
	for _, c := range attentionCases() {
		qkv, dout := c.randomQKV(3), c.randomOut(4)
		want := runPatternAndMix[float32](t, 1, c, qkv, dout)
		for _, threads := range []int{2, 3, 7} {
			require.Equal(t, want, runPatternAndMix[float32](t, threads, c, qkv, dout), "%v, %d threads", c, threads)
		}
	}
}

func TestAttentionPatternAllocatesNothingWarm(t *testing.T) {
	c := newAttentionCase(1, 130, 3, 8, true, 100, true)
	qkv, dout := castTo[float32](c.randomQKV(15)), castTo[float32](c.randomOut(16))
	prob, dprob := make([]float32, c.Seq*c.Heads*c.Seq), make([]float32, c.Seq*c.Heads*c.Seq)
	out, dqkv := make([]float32, len(dout)), make([]float32, len(qkv))
	for _, threads := range []int{1, 2} {
		p := NewPool(threads)
		defer p.Close()
		var a AttentionPattern[float32]
		var m AttentionMix[float32]
		require.Zero(t, testing.AllocsPerRun(5, func() {
			a.Forward(p, prob, qkv, c.starts, c.AttentionParams)
			m.Forward(p, out, prob, qkv, c.AttentionParams)
			m.GradPattern(p, dprob, dout, qkv, c.AttentionParams)
			m.GradValues(p, dqkv, prob, dout, c.AttentionParams)
			a.Backward(p, dqkv, qkv, prob, dprob, c.starts, c.AttentionParams)
		}), "%d threads", threads)
	}
}
