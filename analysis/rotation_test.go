package analysis_test

import (
	"math"
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

// exactTo is to what part of their size logits agree that are the same but for rounding.
var exactTo = map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 1e-4}

// logitsOf runs a model and returns its logits and the named activations.
func logitsOf(t *testing.T, store *graph.Store, spec models.Spec, ids []int32, names ...string) *cache.Cache {
	t.Helper()
	r, err := cache.New(store, spec, cache.Options{Names: names, Seq: len(ids)})
	require.NoError(t, err)
	defer r.Close()
	run, err := r.Run(ids)
	require.NoError(t, err)
	return run
}

// withUnitGains sets a store's gains to 1.
func withUnitGains(t *testing.T, store *graph.Store) *graph.Store {
	t.Helper()
	for _, p := range store.Params() {
		if p.Init.Offset == 1 {
			ones := make([]float64, p.Size())
			floats.AddConst(1, ones)
			require.NoError(t, graph.SetFloat64s(p.Value, ones))
		}
	}
	return store
}

// TestRotateVector: a vector model with random gains (one of them 0), biases and means is
// the same function after its stream was rotated; the Store that was given is as before.
func TestRotateVector(t *testing.T) {
	t.Parallel()
	for name, c := range vectorModels(t) {
		t.Run(name, func(t *testing.T) {
			for dt, bound := range exactTo {
				store := modeltest.PerturbedStore(t, c, dt)
				gain := store.Param("norm").Value
				values := graph.Float64s(gain)
				values[4] = 0
				require.NoError(t, graph.SetFloat64s(gain, values))
				before := modeltest.Values(store)
				ids := tokensFor(c, c.Seq, 3)
				want := logitsOf(t, store, c, ids)

				rotated, rc, err := analysis.Rotate(store, c, analysis.RotationOptions{Seed: 5})
				require.NoError(t, err)
				assert.False(t, rc.TieEmbeddings)
				assert.Equal(t, dt, rotated.DType())
				assert.LessOrEqual(t, modeltest.Distance(logitsOf(t, rotated, rc, ids).Logits, want.Logits), bound, "%v", dt)
				assert.Equal(t, before, modeltest.Values(store))
				for _, name := range []string{"embedding", "blocks.1.attention.o", "blocks.2.feedforward.w1"} {
					assert.Greater(t, modeltest.Distance(graph.Float64s(rotated.Param(name).Value), before[name]), 0.1, name)
				}
			}
		})
	}
}

// TestRotatedVectorStream: the stream of the rotated model is the model's own, centred where
// its norms do that, times the matrix that was drawn.
func TestRotatedVectorStream(t *testing.T) {
	t.Parallel()
	for name, c := range vectorModels(t) {
		t.Run(name, func(t *testing.T) {
			store, ids := modeltest.PerturbedStore(t, c, tensor.Float64), tokensFor(c, c.Seq, 3)
			o := analysis.RotationOptions{Seed: 8}
			rotated, rc, err := analysis.Rotate(store, c, o)
			require.NoError(t, err)
			q, err := analysis.DrawRotation(c, o)
			require.NoError(t, err)
			const names = "blocks.*.*.stream"
			own, turned := logitsOf(t, store, c, ids, names), logitsOf(t, rotated, rc, ids, names)
			for _, site := range own.Names() {
				h, err := own.Activation(site)
				require.NoError(t, err)
				got, err := turned.Activation(site)
				require.NoError(t, err)
				for i := 0; c.Norm == models.NormLayer && i < len(h); i += c.Width() {
					floats.AddConst(-floats.Sum(h[i:i+c.Width()])/float64(c.Width()), h[i:i+c.Width()])
				}
				var want mat.Dense
				want.Mul(mat.NewDense(c.Seq, c.Width(), h), q.Stream)
				assert.LessOrEqual(t, modeltest.Distance(got, want.RawMatrix().Data), 1e-11, site)
			}
		})
	}
}

// TestRotateMatrix: with unit gains a matrix model is the same function after its key
// space, its value space or both were rotated: for RMSNorm by any rotation, for LayerNorm by
// those that keep the vector of ones; rotary positions forbid the value space.
func TestRotateMatrix(t *testing.T) {
	t.Parallel()
	for name, c := range matrixModels(t) {
		for _, space := range []string{analysis.SpaceKey, analysis.SpaceValue, analysis.SpaceBoth} {
			t.Run(name+"/"+space, func(t *testing.T) {
				longtest.Select(t, name == "bias" || name == "authors" || name == "rope")
				for dt, bound := range exactTo {
					store, ids := withUnitGains(t, modeltest.PerturbedStore(t, c, dt)), tokensFor(c, c.Seq, 3)
					want := logitsOf(t, store, c, ids).Logits
					for _, keepOnes := range []bool{false, true} {
						rotated, rc, err := analysis.Rotate(store, c, analysis.RotationOptions{Space: space, Seed: 5, KeepOnes: keepOnes})
						require.NoError(t, err)
						require.Equal(t, c, rc)
						deviation := modeltest.Distance(logitsOf(t, rotated, rc, ids).Logits, want)
						if name == "rope" && space != analysis.SpaceKey || !keepOnes && c.Norm != models.NormRMS {
							assert.Greater(t, deviation, 1e-2)
						} else {
							assert.LessOrEqual(t, deviation, bound)
						}
					}
				}
			})
		}
	}
}

// TestRotatedMatrixStream: X becomes Key^T X Value.
func TestRotatedMatrixStream(t *testing.T) {
	c := matrixModels(t)["authors"]
	store, ids := withUnitGains(t, modeltest.PerturbedStore(t, c, tensor.Float64)), tokensFor(c, c.Seq, 3)
	o := analysis.RotationOptions{Seed: 8}
	rotated, rc, err := analysis.Rotate(store, c, o)
	require.NoError(t, err)
	r, err := analysis.DrawRotation(c, o)
	require.NoError(t, err)
	const site = "blocks.2.feedforward.stream"
	x, err := logitsOf(t, store, c, ids, site).Activation(site)
	require.NoError(t, err)
	got, err := logitsOf(t, rotated, rc, ids, site).Activation(site)
	require.NoError(t, err)
	var want []float64
	for token := range ids {
		var y mat.Dense
		s := matrixOf(c)
		y.Product(r.Key.T(), mat.NewDense(s.Dk, s.Dv, x[token*s.Dk*s.Dv:][:s.Dk*s.Dv]), r.Value)
		want = append(want, y.RawMatrix().Data...)
	}
	assert.LessOrEqual(t, modeltest.Distance(got, want), 1e-12)
}

// TestFoldNorms: the folded model is the same function with gains of 1 and, without
// biases, RMSNorms.
func TestFoldNorms(t *testing.T) {
	for name, c := range vectorModels(t) {
		store, ids := modeltest.PerturbedStore(t, c, tensor.Float64), tokensFor(c, c.Seq, 3)
		folded, fc, err := analysis.FoldNorms(store, c)
		require.NoError(t, err, name)
		assert.LessOrEqual(t, modeltest.Distance(logitsOf(t, folded, fc, ids).Logits, logitsOf(t, store, c, ids).Logits), 1e-12, name)
		assert.Equal(t, c.Bias, fc.Norm == models.NormLayer, name)
		for _, p := range folded.Params() {
			ofHead := strings.HasSuffix(p.Name, ".q_norm") || strings.HasSuffix(p.Name, ".k_norm") // no norm of the stream
			if p.Init.Offset == 1 && !ofHead {
				assert.Equal(t, float64(p.Size()), floats.Sum(graph.Float64s(p.Value)), "%s: %s", name, p.Name)
			}
		}
	}
	_, _, err := analysis.FoldNorms(nil, vectorModels(t)["bias"])
	assert.ErrorIs(t, err, models.ErrNoParameters)
	_, _, err = analysis.FoldNorms(nil, matrixModels(t)["bias"])
	assert.ErrorIs(t, err, check.ValueError{Name: "stream", Want: "one of vectors that can be rotated"})
}

// TestRotationMatrices: they are orthogonal and depend on the seed; those that keep the ones
// do. Over many draws the trace of a uniform one has mean 0 and variance 1 (Diaconis &
// Shahshahani 1994), and the square of an entry has mean 1/n.
func TestRotationMatrices(t *testing.T) {
	t.Parallel()
	c := modeltest.Resolve(t, transformer(1, 6, 1, 1, 2, 1))
	ones := mat.NewDense(1, 6, []float64{1, 1, 1, 1, 1, 1})
	identity := mat.NewDiagDense(6, []float64{1, 1, 1, 1, 1, 1})
	const draws = 3000
	for _, keep := range []bool{false, true} {
		var traces, squares []float64
		for seed := range uint64(draws) {
			r, err := analysis.DrawRotation(c, analysis.RotationOptions{Seed: seed, KeepOnes: keep})
			require.NoError(t, err)
			var product, turned mat.Dense
			product.Mul(r.Stream, r.Stream.T())
			turned.Mul(ones, r.Stream)
			require.True(t, mat.EqualApprox(&product, identity, 1e-13))
			require.Equal(t, keep, mat.EqualApprox(&turned, ones, 1e-13))
			traces, squares = append(traces, mat.Trace(r.Stream)), append(squares, r.Stream.At(1, 2)*r.Stream.At(1, 2))
		}
		mean, square := floats.Sum(traces)/draws, floats.Dot(traces, traces)/draws
		wantMean, wantEntry := 0.0, 1.0/6
		if keep { // 1 1^T/n plus a uniform rotation of n-1 dimensions: entries' squares 1/n^2 + a variance
			wantMean, wantEntry = 1, 1./36+(1./5)*(5./6)*(5./6)
		}
		assert.InDelta(t, wantMean, mean, 4/math.Sqrt(draws))
		assert.InDelta(t, 1, square-mean*mean, 4*math.Sqrt(2.0/draws))
		assert.InDelta(t, wantEntry, floats.Sum(squares)/draws, 0.012)
	}
	square, err := analysis.DrawRotation(varied(t, matrixModels(t)["bias"], func(c *models.Config) { c.Stream = stream.MatrixConfig{Dk: 4, Dv: 4, Rank: 2} }), analysis.RotationOptions{})
	require.NoError(t, err)
	assert.False(t, mat.EqualApprox(square.Key, square.Value, 0.1), "the same for both spaces")
	assert.Nil(t, square.Stream)
	for _, small := range []int{1, 2} {
		c := modeltest.Resolve(t, transformer(1, small, 1, 1, 2, 1))
		r, err := analysis.DrawRotation(c, analysis.RotationOptions{KeepOnes: true})
		require.NoError(t, err)
		var product mat.Dense
		product.Mul(r.Stream, r.Stream.T())
		assert.InDelta(t, float64(small), mat.Trace(&product), 1e-14)
	}
}

// TestRotateErrors: what a call can get wrong is one line.
func TestRotateErrors(t *testing.T) {
	c := vectorModels(t)["bias"]
	_, _, err := analysis.Rotate(nil, c, analysis.RotationOptions{Space: "key"})
	assert.ErrorIs(t, err, check.ValueError{Name: "space", Got: `"key"`})
	m := matrixModels(t)["bias"]
	_, _, err = analysis.Rotate(nil, m, analysis.RotationOptions{Space: "stream"})
	assert.ErrorIs(t, err, check.ValueError{Name: "space", Got: `"stream"`})
	_, _, err = analysis.Rotate(nil, m, analysis.RotationOptions{})
	assert.ErrorIs(t, err, models.ErrNoParameters)
	_, _, err = analysis.Rotate(modeltest.NewStore(t, m, tensor.Float32, 0), c, analysis.RotationOptions{})
	assert.ErrorContains(t, err, `parameter "`, "a store of another model")
	_, _, err = analysis.Rotate(nil, modeltest.Resolve(t, tiny(oddSpaces{Space: stream.Space{Name: stream.SpaceStream}}, plain)), analysis.RotationOptions{})
	assert.ErrorIs(t, err, check.ValueError{Name: "space stream of the odd stream", Got: "0"})
	_, _, err = analysis.Rotate(nil, modeltest.Resolve(t, tiny(oddSpaces{Space: stream.Space{Name: "depth", Size: 3}}, plain)), analysis.RotationOptions{})
	assert.ErrorIs(t, err, check.ValueError{Name: "space of the odd stream", Got: "depth"})
	other := unsupporting(t, rotatable)
	_, _, err = analysis.Rotate(nil, other, analysis.RotationOptions{})
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
	_, err = analysis.MeasureRotation(t.Context(), nil, other, []int32{1}, analysis.RotationReportOptions{})
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
	for _, option := range []func(c *models.Config){
		func(c *models.Config) { c.Norms = stream.NormsBoth }, func(c *models.Config) { c.Attention.ValueEmbeddings = 4 },
	} {
		c := varied(t, vectorModels(t)["rmsnorm"], option)
		assert.ErrorIs(t, analysis.CheckRotatable(c), check.UnsupportedError{Stream: "vector"})
		_, err = analysis.MeasureBasis(t.Context(), modeltest.NewStore(t, c, tensor.Float32, 0), c, []int32{1, 2, 3}, analysis.BasisOptions{})
		assert.NoError(t, err, "whose activations can be rotated")
	}
	_, err = analysis.MeasureRotation(t.Context(), modeltest.NewStore(t, c, tensor.Float32, 0), c, []int32{99}, analysis.RotationReportOptions{})
	assert.ErrorIs(t, err, check.RangeError{Name: "id of token 0", N: 13, Got: 99})
	_, err = analysis.MeasureRotation(t.Context(), nil, models.Spec{}, []int32{1}, analysis.RotationReportOptions{})
	assert.ErrorIs(t, err, check.ValueError{Name: "model", Got: "the zero value"})
	_, err = analysis.DrawRotation(models.Spec{}, analysis.RotationOptions{})
	assert.ErrorIs(t, err, check.ValueError{Name: "model", Got: "the zero value"})
	_, _, err = analysis.FoldNorms(nil, models.Spec{})
	assert.ErrorIs(t, err, check.ValueError{Name: "model", Got: "the zero value"})
	_, err = analysis.MeasureRotation(t.Context(), nil, c, nil, analysis.RotationReportOptions{Seeds: -1})
	assert.ErrorIs(t, err, check.ValueError{Name: "seeds", Got: "-1"})
}

// oddSpaces is a design of one's own whose stream is said to have the given space.
type oddSpaces struct {
	stream.VectorConfig
	Space stream.Space
}

func (oddSpaces) Name() string { return "odd" }

func (o oddSpaces) Spaces() []stream.Space { return []stream.Space{o.Space} }

func (o oddSpaces) Defaults() stream.Design {
	o.VectorConfig = o.VectorConfig.Defaults().(stream.VectorConfig)
	return o
}
