package analysis_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/memory"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestKeysAgainstNaive compares coherence and crosstalk with cosines taken one by one.
func TestKeysAgainstNaive(t *testing.T) {
	all := zoo(t)
	for _, name := range []string{"matrix", "matrix/authors", "matrix/moe"} {
		t.Run(name, func(t *testing.T) {
			c := all[name]
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			m, err := memory.MeasureKeys(t.Context(), store, c, 1)
			require.NoError(t, err)
			accesses := matrixAccesses(c, store)
			require.Len(t, m.Sets, len(accesses))
			var writes, reads []*mat.Dense
			for i, a := range accesses {
				checkCoherence(t, m.Sets[i], a.w)
				if a.reads {
					reads = append(reads, a.w)
				} else {
					writes = append(writes, a.w)
				}
			}
			checkCoherence(t, m.Writes, sideBySide(writes))
			checkCoherence(t, m.Reads, sideBySide(reads))
			checkCrosstalk(t, m, accesses)
			checkResult(t, m)
		})
	}
}

// cosineOf returns the cosine of column i of a and column j of b.
func cosineOf(a *mat.Dense, i int, b *mat.Dense, j int) float64 {
	x, y := mat.Col(nil, i, a), mat.Col(nil, j, b)
	return floats.Dot(x, y) / floats.Norm(x, 2) / floats.Norm(y, 2)
}

func checkCoherence(t *testing.T, got memory.KeySet, w *mat.Dense) {
	d, n := w.Dims()
	largest, squares := 0.0, 0.0
	for i := range n {
		for j := range n {
			if i != j {
				v := math.Abs(cosineOf(w, i, w, j))
				largest, squares = max(largest, v), squares+v*v
			}
		}
	}
	assert.Equal(t, n, got.Keys)
	assert.Equal(t, d, got.Dimensions)
	assert.InDelta(t, largest, got.Max, 1e-12)
	assert.InDelta(t, squares/float64(n*(n-1)), got.MeanSquared, 1e-12)
	assert.InDelta(t, squares/float64(n), got.Error, 1e-12)
	assert.InDelta(t, float64(n-1)/float64(d), got.Random, 1e-12)
	assert.GreaterOrEqual(t, got.Max, got.Welch)
	assert.GreaterOrEqual(t, got.RandomMax, got.Welch)
}

func checkCrosstalk(t *testing.T, m *memory.KeyMemory, accesses []access) {
	next, own := 0, 0
	for i, w := range accesses {
		for j, r := range accesses {
			if w.reads || !r.reads {
				continue
			}
			_, reading := r.w.Dims()
			_, writing := w.w.Dims()
			squares, pairs := 0.0, reading*writing
			for a := range reading {
				for b := range writing {
					v := cosineOf(r.w, a, w.w, b)
					squares += v * v
				}
			}
			var got memory.Crosstalk
			switch {
			case j > i:
				got, next = m.Crosstalk[next], next+1
			case r.site == w.site:
				got, own = m.Own[own], own+1
			default:
				continue
			}
			assert.Equal(t, w.site+r.site, got.Writer+got.Reader)
			assert.InDelta(t, squares/float64(pairs), got.MeanSquared, 1e-12)
			assert.InDelta(t, squares/float64(pairs)*float64(m.Dk), got.Ratio, 1e-12)
		}
	}
	assert.Len(t, m.Crosstalk, next)
	assert.Len(t, m.Own, own)
}

// TestKeysOfRandomModels: in a model whose keys are random all is as for random keys: the
// crosstalk's ratio has mean 1 and the deviation that it says, the coherence is theirs.
func TestKeysOfRandomModels(t *testing.T) {
	t.Parallel()
	c := modeltest.Resolve(t, models.Config{Stream: stream.MatrixConfig{Dk: 12, Dv: 2, Rank: 9}, Layers: 2, FeedForward: gelu(3), Vocab: 5, Seq: 4})
	var ratios, spread, largest, errors []float64
	var random memory.KeySet
	for seed := range uint64(60) {
		store := modeltest.NewStore(t, c, tensor.Float64, seed)
		m, err := memory.MeasureKeys(t.Context(), store, c, seed)
		require.NoError(t, err)
		for _, x := range m.Crosstalk {
			z := (x.Ratio - 1) / x.Deviation
			ratios, spread = append(ratios, x.Ratio), append(spread, z*z)
		}
		random = m.Writes
		largest, errors = append(largest, random.Max-random.RandomMax), append(errors, random.Error)
	}
	withinErrors(t, 1, ratios, "crosstalk of random keys")
	withinErrors(t, 1, spread, "its variance")
	withinErrors(t, 0, largest, "largest cosine compared with that of random keys")
	withinErrors(t, random.Random, errors, "error of random keys")
}

// TestPlantedKeys: keys that are known. A set's error is what a memory with these keys has.
func TestPlantedKeys(t *testing.T) {
	c := zoo(t)["matrix/authors"]
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	set := func(name string, values []float64) {
		require.NoError(t, graph.SetFloat64s(store.Param(name).Value, values))
	}
	const writer, reader = "blocks.0.attention", "blocks.0.feedforward"
	set(writer+".write", []float64{2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, -1, 0, 0, 0}) // e_0, e_2, -e_1
	set(reader+".norm", slicesOf(1, matrixOf(c).Dk*matrixOf(c).Dv))
	set(reader+".read", []float64{1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 5})
	m, err := memory.MeasureKeys(t.Context(), store, c, 1)
	require.NoError(t, err)
	assert.InDelta(t, 2.0/9, m.Crosstalk[slices.IndexFunc(m.Crosstalk, func(x memory.Crosstalk) bool { return x.Writer == writer && x.Reader == reader })].MeanSquared, 1e-12, "cosines 1, √½ and -√½")
	for _, s := range m.Sets {
		if s.Site == writer && !s.Reads {
			assert.Zero(t, s.Error)
		}
		if s.Site == reader && s.Reads {
			assert.InDelta(t, 2*0.5/3, s.Error, 1e-12)
			withinErrors(t, s.Error, storedErrors(store, c, reader+".read"), "a memory with these keys")
		}
	}
}

func slicesOf(v float64, n int) []float64 {
	all := make([]float64, n)
	floats.AddConst(v, all)
	return all
}

// storedErrors returns the errors of values that are stored under a site's keys and read back,
// computed term by term.
func storedErrors(store *graph.Store, spec models.Spec, name string) []float64 {
	s := matrixOf(spec)
	keys := param(store, name, s.Rank)
	draw := rand.New(rand.NewPCG(1, 7))
	var errors []float64
	for range 2000 {
		memory, values := mat.NewDense(s.Dk, s.Dv, nil), make([][]float64, s.Rank)
		for i := range values {
			for range s.Dv {
				values[i] = append(values[i], draw.NormFloat64())
			}
			key := mat.Row(nil, i, keys)
			floats.Scale(1/floats.Norm(key, 2), key)
			outer(memory.RawMatrix().Data, key, values[i])
		}
		lost, all := 0.0, 0.0
		for i, v := range values {
			key := mat.Row(nil, i, keys)
			read := make([]float64, s.Dv)
			for d, k := range key {
				floats.AddScaled(read, k/floats.Norm(key, 2), memory.RawRowView(d))
			}
			floats.Sub(read, v)
			lost, all = lost+floats.Dot(read, read), all+floats.Dot(v, v)
		}
		errors = append(errors, lost/all)
	}
	return errors
}

// TestKeysOfOtherStreams: only matrix streams have keys.
func TestKeysOfOtherStreams(t *testing.T) {
	c := zoo(t)["vector"]
	_, err := memory.MeasureKeys(t.Context(), modeltest.NewStore(t, c, tensor.Float32, 1), c, 1)
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: "vector"})
}
