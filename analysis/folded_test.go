package analysis_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// parameter returns a store's parameter as a matrix with the given number of rows.
func parameter(t *testing.T, store *graph.Store, name string, rows int) *mat.Dense {
	t.Helper()
	p := store.Param(name)
	require.NotNil(t, p, name)
	return mat.NewDense(rows, p.Size()/rows, graph.Float64s(p.Value))
}

// times returns the product of matrices.
func times(factors ...mat.Matrix) *mat.Dense {
	var p mat.Dense
	p.Product(factors...)
	return &p
}

// normMatrix returns C diag(g) [D, D], or diag(g) for an RMSNorm, entry by entry.
func normMatrix(gain []float64, centre bool) *mat.Dense {
	n := len(gain)
	w := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			if i == j {
				w.Set(i, j, gain[j])
			}
			if centre {
				w.Set(i, j, w.At(i, j)-gain[j]/float64(n))
			}
		}
	}
	return w
}

// readBySite returns what the first site reads, for each of queries, keys and values: u [D] for
// vector streams, X [Dk, Dv] for a matrix stream.
func readBySite(t *testing.T, run *cache.Cache, token int) []float64 {
	t.Helper()
	name, size := "blocks.0.attention.read", run.Model().Spec().Width()
	if !slices.Contains(run.Names(), name) {
		name, size = "embedding.out", run.Model().Spec().StreamSize()
	}
	a, err := run.Get(name)
	require.NoError(t, err)
	x, err := a.Token(token)
	require.NoError(t, err)
	return x[:size]
}

// TestFoldedHeadsReadWhatTheModelReads: with folded weights, x W / sigma equals the model's own
// query, key and value, in all streams.
func TestFoldedHeadsReadWhatTheModelReads(t *testing.T) {
	t.Parallel()
	all := zoo(t)
	left := excepted(t, "folded")
	for _, name := range checked(t, "shared heads", "vector/gpt2", "matrix/authors") {
		all[name+"/shared"] = varied(t, all[name], func(c *models.Config) { c.Attention.KVHeads = 1 })
	}
	for name, c := range all {
		if !supports(c, weighted) || left(name, c) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			longtest.Select(t, !strings.Contains(name, "/") || strings.HasSuffix(name, "/shared"))
			c := varied(t, c, func(v *models.Config) {
				v.Bias, v.Attention.Positions, v.Attention.RopeBase = false, models.PositionsLearned, 0
				if on[stream.MatrixConfig](c) {
					v.Norm = models.NormRMS // a joint mean is no matter of keys
				}
			})
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			levelGains(t, store, c)
			run, err := analysis.Run(store, c, tokensFor(c, c.Seq, 3), "embedding.*", "blocks.0.attention.*")
			require.NoError(t, err)
			f, err := analysis.Fold(store, c)
			require.NoError(t, err)
			for token := range c.Seq {
				checkFoldedReads(t, f, run, c, token)
			}
		})
	}
}

// levelGains makes a matrix stream's gains equal within each row, so that one key describes them
// fully.
func levelGains(t *testing.T, store *graph.Store, spec models.Spec) {
	if !on[stream.MatrixConfig](spec) {
		return
	}
	gain := store.Param("blocks.0.attention.norm").Value
	values, dv := graph.Float64s(gain), matrixOf(spec).Dv
	for i := range values {
		values[i] = values[i/dv*dv]
	}
	require.NoError(t, graph.SetFloat64s(gain, values))
}

func checkFoldedReads(t *testing.T, f *analysis.Folded, run *cache.Cache, spec models.Spec, token int) {
	x := readBySite(t, run, token)
	mean := 0.0
	if spec.Norm == models.NormLayer {
		mean = floats.Sum(x) / float64(len(x))
	}
	square := 0.0
	for _, v := range x {
		square += (v - mean) * (v - mean) / float64(len(x))
	}
	scale := 1 / math.Sqrt(square+spec.NormEps)
	if run.Model().Store().Param("blocks.0.attention.norm") == nil { // what it reads is normalised
		scale = 1
	}
	if latents(run.Model().Store()) { // by another norm, of what a map makes of it
		store, z := run.Model().Store(), mat.NewDense(1, len(x), x)
		latent := times(z, normMatrix(graph.Float64s(store.Param("blocks.0.attention.wide.norm").Value), spec.Norm == models.NormLayer),
			parameter(t, store, "blocks.0.attention.wide.down", len(x)))
		latent.Scale(scale, latent)
		scale /= math.Sqrt(math.Pow(mat.Norm(latent, 2), 2)/float64(spec.Width()) + spec.NormEps)
	}
	qkv, err := run.Get("blocks.0.attention.qkv")
	require.NoError(t, err)
	want, err := qkv.Token(token)
	require.NoError(t, err)
	heads, dh := spec.HeadCount(), spec.HeadDim()
	for h := range heads {
		w, err := f.Head(0, h)
		require.NoError(t, err)
		for i, in := range []*mat.Dense{w.Q, w.K, w.V} {
			got := times(in.T(), mat.NewDense(len(x)/w.Values, w.Values, x)) // [Dh, 1] or [1, Dv]
			got.Scale(scale, got)
			at := h
			if i > 0 {
				at = heads + (i-1)*spec.KVHeads() + h*spec.KVHeads()/heads
			}
			want := times(mat.NewDense(1, dh, want[at*dh:][:dh]), attentionGain(spec, run.Model().Store(), "blocks.0.attention.", i))
			require.InDeltaSlice(t, want.RawMatrix().Data, got.RawMatrix().Data, 1e-10, "head %d, %d", h, i)
		}
	}
}

// TestFoldedErrors: what a call can get wrong is one line.
func TestFoldedErrors(t *testing.T) {
	c := zoo(t)["vector"]
	f, err := analysis.Fold(modeltest.NewStore(t, c, tensor.Float32, 0), c)
	require.NoError(t, err)
	_, err = f.Head(4, 0)
	assert.ErrorIs(t, err, check.RangeError{Name: "layer", N: 4, Got: 4})
	_, err = f.Head(0, -1)
	assert.ErrorIs(t, err, check.RangeError{Name: "head", N: 3, Got: -1})
	other := unsupporting(t, weighted)
	_, err = analysis.Fold(modeltest.NewStore(t, other, tensor.Float32, 0), other)
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
	_, err = analysis.Fold(nil, c)
	assert.Error(t, err)
	_, err = analysis.Fold(modeltest.NewStore(t, other, tensor.Float32, 0), c)
	assert.Error(t, err, fmt.Sprint(c))
}
