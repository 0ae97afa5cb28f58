package analysis_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
)

// TestCompositionAgainstNumpy: the scores of all pairs of GPT-2's heads are numpy's.
func TestCompositionAgainstNumpy(t *testing.T) {
	var want struct {
		Composition []struct {
			From [2]int  `json:"from"`
			To   [2]int  `json:"to"`
			Q    float64 `json:"q"`
			K    float64 `json:"k"`
			V    float64 `json:"v"`
		} `json:"composition"`
	}
	numpy(t, &want)
	p := gpt2(t)
	c, err := analysis.Compose(t.Context(), p.Store, p.Spec, nil)
	require.NoError(t, err)
	requireResult(t, c)
	require.Len(t, c.Pairs, len(want.Composition))
	heads := p.Spec.HeadCount()
	for i, w := range want.Composition {
		got := c.Pairs[i]
		assert.Equal(t, [2]int{w.From[0]*heads + w.From[1], w.To[0]*heads + w.To[1]}, [2]int{got.From, got.To})
		assert.InEpsilon(t, w.Q, got.Q, 1e-9)
		assert.InEpsilon(t, w.K, got.K, 1e-9)
		assert.InEpsilon(t, w.V, got.V, 1e-9)
	}
	assert.InEpsilon(t, 1/math.Sqrt(float64(p.Spec.Width())), c.Chance, 1e-12)
}

// TestCompositionOfEveryStream compares with explicit D x D matrices and what CarryTo makes of
// unit vectors; heads may be larger than the stream.
func TestCompositionOfEveryStream(t *testing.T) {
	t.Parallel()
	for _, name := range checked(t, "composition", "vector/gpt2", "large heads") {
		t.Run(name, func(t *testing.T) {
			c, known := zoo(t)[name]
			if !known {
				c = zoo(t)["vector"]
				c = varied(t, c, func(v *models.Config) { v.Attention.HeadDim = c.Width() + 3 })
			}
			run, _ := decompose(t, c, tensor.Float64)
			store := run.Model().Store()
			for _, r := range []*cache.Cache{nil, run} {
				got, err := analysis.Compose(t.Context(), store, c, r)
				require.NoError(t, err)
				require.Len(t, got.Pairs, c.HeadCount()*c.HeadCount()*c.Layers*(c.Layers-1)/2)
				n := newNaive(t, store, c, r)
				for _, p := range got.Pairs {
					n.checkPair(got.Heads[p.From], got.Heads[p.To], p)
				}
			}
		})
	}
}

func (n *naive) checkPair(from, to string, p analysis.HeadPair) {
	d := n.c.Width()
	carried := func(via string) *mat.Dense { return times(n.in(from+".v"), n.out(from), n.carry(from, to+via, d, d)) } // OV M
	left := mat.Norm(times(n.in(from+".v"), n.out(from)), 2)
	qk, ov := times(n.in(to+".q"), n.in(to+".k").T()), times(n.in(to+".v"), n.out(to))
	require.InEpsilon(n.t, mat.Norm(times(carried(".q"), qk), 2)/(left*mat.Norm(qk, 2)), p.Q, 1e-9)
	require.InEpsilon(n.t, mat.Norm(times(carried(".k"), qk.T()), 2)/(left*mat.Norm(qk, 2)), p.K, 1e-9)
	require.InEpsilon(n.t, mat.Norm(times(carried(".v"), ov), 2)/(left*mat.Norm(ov, 2)), p.V, 1e-9)
}

// TestMatrixComposition: a matrix stream's scores are sqrt(Dv) times those of the explicit
// matrices of (Dk*Dv) x (Dk*Dv), and cosines of keys.
func TestMatrixComposition(t *testing.T) {
	m := newRMT(t)
	c, err := analysis.Compose(t.Context(), m.store, m.c, nil)
	require.NoError(t, err)
	requireResult(t, c)
	require.Len(t, c.Pairs, m.s.Rank*m.s.Rank)
	for _, p := range c.Pairs {
		_, _, v, o := m.head(0, p.From)
		q, k, v2, o2 := m.head(1, p.To-m.s.Rank)
		cosine := func(read *mat.Dense) float64 {
			return math.Abs(times(o, read.T()).At(0, 0)) / (mat.Norm(o, 2) * mat.Norm(read, 2))
		}
		assert.InEpsilon(t, cosine(q), p.Q, 1e-12)
		assert.InEpsilon(t, cosine(k), p.K, 1e-12)
		assert.InEpsilon(t, cosine(v2), p.V, 1e-12)
		ov, qk, ov2 := m.whole(times(v.T(), o)), m.whole(times(q.T(), k)), m.whole(times(v2.T(), o2))
		root := math.Sqrt(float64(m.s.Dv))
		assert.InEpsilon(t, root*mat.Norm(times(ov, qk), 2)/(mat.Norm(ov, 2)*mat.Norm(qk, 2)), p.Q, 1e-12)
		assert.InEpsilon(t, root*mat.Norm(times(ov, qk.T()), 2)/(mat.Norm(ov, 2)*mat.Norm(qk, 2)), p.K, 1e-12)
		assert.InEpsilon(t, root*mat.Norm(times(ov, ov2), 2)/(mat.Norm(ov, 2)*mat.Norm(ov2, 2)), p.V, 1e-12)
	}
}

// TestCompositionErrors: what a call can get wrong is one line.
func TestCompositionErrors(t *testing.T) {
	other := unsupporting(t, weighted)
	_, err := analysis.Compose(t.Context(), modeltest.NewStore(t, other, tensor.Float32, 0), other, nil)
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
	one := modeltest.Resolve(t, transformer(1, 8, 8, 2, 5, 4))
	composition, err := analysis.Compose(t.Context(), modeltest.PerturbedStore(t, one, tensor.Float32), one, nil)
	require.NoError(t, err)
	assert.Empty(t, composition.Figures(), "one layer has no pairs")
}
