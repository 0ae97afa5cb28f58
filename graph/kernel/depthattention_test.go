package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDepthAttention(t *testing.T) {
	testDepthAttention[float32](t, 2e-5)
	testDepthAttention[float64](t, 1e-12)
}

func testDepthAttention[T Float](t *testing.T, tolerance float64) {
	forEachPath[T](t, func(t *testing.T, p path) {
		for _, d := range []DepthAttentionParams{{1, 1, 1, 1e-6, 0}, {0, 3, 2, 1, 0}, {7, 13, 1, 1e-6, 1}, {33, 101, 4, 1e-6, 0}, {3, 70, 9, 0.3, 0}, {5, 64, 2, 1e-6, 0}} {
			c := newDepthCase[T](d)
			for threads := 1; threads <= 3; threads++ {
				c.check(t, p, threads, tolerance)
			}
		}
	})
}

// depthCase holds the inputs of one DepthAttention, and in float64 its expected results.
type depthCase[T Float] struct {
	d                                 DepthAttentionParams
	query, gain, du                   []T
	v, addends                        [][]T
	wantU, wantA, wantQuery, wantGain []float64
	wantV                             [][]float64
}

func newDepthCase[T Float](d DepthAttentionParams) depthCase[T] {
	c := depthCase[T]{d: d, query: normals[T](1, d.Width, 0.3), gain: normals[T](2, d.Width, 1), du: normals[T](3, d.size(), 1),
		wantU: make([]float64, d.size()), wantQuery: make([]float64, d.Width), wantGain: make([]float64, d.Width)}
	for i := range d.Sources {
		c.v, c.addends = append(c.v, normals[T](uint64(10+i), d.size(), 1)), append(c.addends, normals[T](uint64(40+i), d.size(), 1))
		c.wantV = append(c.wantV, widen(c.addends[i]))
	}
	for token := range d.Tokens {
		c.wantToken(token)
	}
	return c
}

// wantToken computes a token by the chain rule.
func (c *depthCase[T]) wantToken(token int) {
	width, n := c.d.Width, c.d.Sources
	at := func(x []T, j int) float64 { return float64(x[token*width+j]) }
	a, r, da, sum, mean := make([]float64, n), make([]float64, n), make([]float64, n), 0.0, 0.0
	for i, v := range c.v {
		squares, score := 0.0, 0.0
		for j := range width {
			squares += at(v, j) * at(v, j)
			score += at(v, j) * float64(c.query[j]) * float64(c.gain[j])
			da[i] += at(v, j) * at(c.du, j)
		}
		r[i] = 1 / math.Sqrt(squares/float64(width)+c.d.Eps)
		a[i] = math.Exp(score * r[i])
		sum += a[i]
	}
	for i := range a {
		a[i] /= sum
		mean += a[i] * da[i]
	}
	c.wantA = append(c.wantA, a...)
	for i, v := range c.v {
		ds, along := a[i]*(da[i]-mean), 0.0
		for j := range width { // gradient of the normalised source
			h := ds * float64(c.query[j]) * float64(c.gain[j])
			along += h * at(v, j) * r[i] / float64(width)
			c.wantQuery[j] += ds * float64(c.gain[j]) * at(v, j) * r[i]
			c.wantGain[j] += ds * float64(c.query[j]) * at(v, j) * r[i]
			c.wantU[token*width+j] += a[i] * at(v, j)
		}
		for j := range width {
			h := ds * float64(c.query[j]) * float64(c.gain[j])
			c.wantV[i][token*width+j] += a[i]*at(c.du, j) + (h-along*at(v, j)*r[i])*r[i]
		}
	}
}

// check compares all results, in separate memory and in place.
func (c depthCase[T]) check(t *testing.T, p path, threads int, tolerance float64) {
	t.Helper()
	pool := NewPool(threads)
	defer pool.Close()
	k, d, name := DepthAttention[T]{path: p}, c.d, fmt.Sprintf("%+v", c.d)
	u, a, rstd := unset[T](d.size()), unset[T](d.Tokens*d.Sources), unset[T](d.Tokens*d.Sources)
	k.Forward(pool, u, a, rstd, c.v, c.query, c.gain, d)
	requireNear(t, c.wantU, u, tolerance, "u of "+name)
	requireNear(t, c.wantA, a, tolerance, "weights of "+name)

	g := DepthGradients[T]{Addends: c.addends, Query: slices.Repeat([]T{1}, d.Width), AccumulateQuery: true, Gain: unset[T](d.Width)}
	over := DepthGradients[T]{}
	for i := range d.Sources {
		g.V = append(g.V, unset[T](d.size()))
		over.V = append(over.V, slices.Clone(c.addends[i]))
	}
	over.Addends = over.V
	k.Backward(pool, g, c.du, nil, a, rstd, c.v, c.query, c.gain, d)
	k.Backward(pool, over, c.du, nil, a, rstd, c.v, c.query, c.gain, d)
	for i := range d.Sources {
		requireNear(t, c.wantV[i], g.V[i], tolerance, fmt.Sprintf("dv %d of %s", i, name))
		require.Equal(t, g.V[i], over.V[i], "dv %d in place of the addend", i)
	}
	for j := range g.Query {
		g.Query[j]--
	}
	requireNear(t, c.wantQuery, g.Query, 10*tolerance, "dquery of "+name)
	requireNear(t, c.wantGain, g.Gain, 10*tolerance, "dgain of "+name)
	c.checkWeights(t, &k, pool, a, rstd, g, tolerance)
}

// checkWeights checks a Forward without u: the weights are the same, and for dweights = du . v the
// gradients equal those of u minus a du.
func (c depthCase[T]) checkWeights(t *testing.T, k *DepthAttention[T], pool *Pool, a, rstd []T, whole DepthGradients[T], tolerance float64) {
	t.Helper()
	d := c.d
	again, dweights := unset[T](len(a)), make([]T, len(a))
	k.Forward(pool, nil, again, unset[T](len(a)), c.v, c.query, c.gain, d)
	require.Equal(t, a, again)
	g := DepthGradients[T]{Addends: make([][]T, d.Sources)}
	for i := range d.Sources {
		g.V = append(g.V, unset[T](d.size()))
		for e := range d.size() {
			dweights[e/d.Width*d.Sources+i] += c.du[e] * c.v[i][e]
		}
	}
	k.Backward(pool, g, nil, dweights, a, rstd, c.v, c.query, c.gain, d)
	for i := range d.Sources {
		want := widen(whole.V[i])
		for e := range want {
			want[e] -= float64(c.addends[i][e]) + float64(a[e/d.Width*d.Sources+i])*float64(c.du[e])
		}
		requireNear(t, want, g.V[i], 10*tolerance, "dv of dweights")
	}
}

// TestDepthAttentionOfNoQuery: with a query of 0, as attention residuals start, all weights are the
// same and the sum is the mean.
func TestDepthAttentionOfNoQuery(t *testing.T) {
	forEachPath[float32](t, func(t *testing.T, p path) {
		d := DepthAttentionParams{Tokens: 3, Width: 21, Sources: 4, Eps: 1e-6}
		c, k := newDepthCase[float32](d), DepthAttention[float32]{path: p}
		a := unset[float32](12)
		k.Forward(nil, unset[float32](d.size()), a, unset[float32](12), c.v, make([]float32, d.Width), c.gain, d)
		require.Equal(t, slices.Repeat([]float32{0.25}, 12), a)
	})
}

func TestDepthAttentionWarmAllocatesNothing(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	d := DepthAttentionParams{Tokens: 10, Width: 50, Sources: 3, Eps: 1e-6}
	c := newDepthCase[float32](d)
	var k DepthAttention[float32]
	u, a, rstd, dq := unset[float32](d.size()), unset[float32](30), unset[float32](30), unset[float32](d.Width)
	g := DepthGradients[float32]{V: c.addends, Addends: c.addends, Query: dq}
	requireNoAllocations(t, func() {
		k.Forward(p, u, a, rstd, c.v, c.query, c.gain, d)
		k.Backward(p, g, c.du, nil, a, rstd, c.v, c.query, c.gain, d)
	})
}
