package analysis_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestBasisAgainstNumpy: the kurtosis of each direction of gpt2-hf's last stream.
func TestBasisAgainstNumpy(t *testing.T) {
	var want struct {
		Tokens []int32 `json:"tokens"`
		Basis  struct {
			Kurtosis []float64 `json:"kurtosis"`
		} `json:"basis"`
	}
	numpy(t, &want)
	p := gpt2(t)
	r, err := analysis.MeasureBasis(t.Context(), p.Store, p.Spec, want.Tokens, analysis.BasisOptions{})
	require.NoError(t, err)
	require.Len(t, r.Points, 1+2*p.Spec.Layers)
	last := r.Points[len(r.Points)-1]
	assert.Equal(t, "blocks.1.feedforward.stream", last.Site)
	assert.InEpsilonSlice(t, want.Basis.Kurtosis, last.Kurtosis, 1e-4)
}

// TestKurtosis: small samples by hand, and none.
func TestKurtosis(t *testing.T) {
	assert.Equal(t, 1.0, analysis.Kurtosis([]float64{-1, 1, 1, -1}))
	assert.InDelta(t, 1.7, analysis.Kurtosis([]float64{1, 2, 3, 4, 5}), 1e-14) // m2 = 2, m4 = 6.8
	assert.InDelta(t, 1.7, analysis.Kurtosis([]float64{-30, -20, -10, 0, 10}), 1e-14)
	assert.InDelta(t, 8+1./9, analysis.Kurtosis([]float64{0, 0, 0, 0, 7, 0, 0, 0, 0, 0}), 1e-12) // n - 2 + 1/(n-1)
	assert.Equal(t, 0.0, analysis.Kurtosis([]float64{0.1, 0.1, 0.1}))
	assert.Equal(t, 0.0, analysis.Kurtosis(nil))
}

// filled runs a model whose embedding gives the values that draw makes, all else left out.
func filled(t *testing.T, spec models.Spec, batch int, draw func() float64) *cache.Cache {
	t.Helper()
	store := modeltest.NewStore(t, spec, tensor.Float64, 0)
	r, err := cache.New(store, spec, cache.Options{Names: []string{"embedding.out"}, Batch: batch})
	require.NoError(t, err)
	defer r.Close()
	values := make([]float64, batch*spec.Seq*spec.StreamSize())
	for i := range values {
		values[i] = draw()
	}
	run, err := r.Run(make([]int32, batch*spec.Seq), cache.Set("embedding.out", nil, values))
	require.NoError(t, err)
	return run
}

// TestBasisOfKnownDistributions: entries that are drawn one by one have the distribution's
// kurtosis, to four standard errors (of a sample's kurtosis: (mu8 - 4 mu4 mu6 + 4 mu4^3 -
// mu4^2)/n of a symmetric distribution with variance 1). Gaussian ones have no basis of
// their own; Laplace ones have, and lose it when they are rotated.
func TestBasisOfKnownDistributions(t *testing.T) {
	c := modeltest.Resolve(t, transformer(1, 16, 1, 1, 2, 32))
	const batch = 128
	n := float64(batch * c.Seq * c.Width())
	random := rand.New(rand.NewPCG(4, 4))
	sign := func() float64 { return float64(2*random.IntN(2) - 1) }
	for name, d := range map[string]struct {
		draw               func() float64
		kurtosis, variance float64
	}{
		"gaussian": {random.NormFloat64, 3, 24},
		"laplace":  {func() float64 { return sign() * random.ExpFloat64() }, 6, 1188},
		"uniform":  {func() float64 { return random.Float64() - 0.5 }, 1.8, 1.32}, // mu4 = 9/5, mu6 = 27/7, mu8 = 9
	} {
		t.Run(name, func(t *testing.T) {
			r, err := analysis.BasisOf(t.Context(), filled(t, c, batch, d.draw), analysis.BasisOptions{})
			require.NoError(t, err)
			p := r.Points[0]
			assert.Equal(t, batch*c.Seq, p.Samples)
			assert.InDelta(t, d.kurtosis, p.MeanKurtosis.Own, 4*math.Sqrt(d.variance/n))
			if name == "gaussian" {
				assert.InDelta(t, 3, p.MeanKurtosis.Rotated, 4*math.Sqrt(24/n))
				assert.InDelta(t, p.Across.Rotated, p.Across.Own, 0.03)
				assert.InDelta(t, 1, p.MaxMean.Own, 0.1)
				return
			}
			// A sum of D independent entries by a unit vector q has excess kurtosis (k - 3) sum
			// q^4, on average over the sphere 3/(D + 2).
			assert.InDelta(t, 3+(d.kurtosis-3)*3/18, p.MeanKurtosis.Rotated, 0.1)
			assert.Greater(t, math.Abs(p.MeanKurtosis.Own-p.MeanKurtosis.Rotated), 10*p.MeanKurtosis.Deviation)
			assert.Greater(t, math.Abs(p.Across.Own-p.Across.Rotated), 10*p.Across.Deviation)
		})
	}
}

// TestBasisFindsOutlier: one direction that a model writes large at all tokens, and one that
// it writes large at one token, are found at every site; rotated they are gone.
func TestBasisFindsOutlier(t *testing.T) {
	c := varied(t, modeltest.Resolve(t, transformer(2, 24, 30, 3, 40, 30)), biased)
	const large, sharp = 7, 11
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	add := func(name string, at int, v float64) {
		values := graph.Float64s(store.Param(name).Value)
		for i := at; i < len(values); i += c.Width() {
			values[i] += v
			if name == "embedding" {
				break
			}
		}
		require.NoError(t, graph.SetFloat64s(store.Param(name).Value, values))
	}
	ids := tokensFor(c, c.Seq, 3)
	for i := range ids {
		ids[i] = max(1, ids[i])
	}
	ids[12] = 0
	add("positions", large, 40)
	add("embedding", sharp, 40) // of id 0
	r, err := analysis.MeasureBasis(t.Context(), store, c, ids, analysis.BasisOptions{Seed: 3})
	require.NoError(t, err)
	require.Len(t, r.Points, 5)
	for _, p := range r.Points {
		assert.Equal(t, large, p.Largest, p.Site)
		assert.Equal(t, sharp, p.Peak, p.Site)
		for name, m := range map[string]analysis.Controlled{"max/mean": p.MaxMean, "across": p.Across} {
			assert.Greater(t, m.Own, m.Rotated+4*m.Deviation, "%s: %s", p.Site, name)
			assert.Greater(t, m.Own, 1.5*m.Rotated, "%s: %s", p.Site, name)
		}
		assert.Greater(t, p.MaxKurtosis.Own, 10.0, p.Site)
	}
	checkResult(t, r)
	t.Log("\n" + r.Table().Text())
}

// TestBasisOfEveryStream: sites, spaces and directions; the measures equal those of plain
// loops.
func TestBasisOfEveryStream(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		t.Run(name, func(t *testing.T) {
			store := modeltest.PerturbedStore(t, c, tensor.Float32)
			ids := tokensFor(c, 2*c.Seq+3, 3) // two rows; the rest is left out
			r, err := analysis.MeasureBasis(t.Context(), store, c, ids, analysis.BasisOptions{Controls: 2})
			require.NoError(t, err)
			assert.Equal(t, 2*c.Seq, r.Tokens)
			assert.Equal(t, 2, r.Controls)
			sites := map[string]int{}
			for _, p := range r.Points {
				sites[p.Space]++
				assert.Len(t, p.Size, len(p.Kurtosis))
				assert.Equal(t, r.Tokens*c.StreamSize(), p.Samples*len(p.Kurtosis), p.Site)
			}
			want := []string{analysis.SpaceStream}
			if on[stream.MatrixConfig](c) {
				want = []string{analysis.SpaceKey, analysis.SpaceValue, analysis.SpaceBoth}
			}
			require.Len(t, sites, len(want))
			for _, space := range want {
				assert.GreaterOrEqual(t, sites[space], 1+c.Layers, space)
			}
			checkResult(t, r)
		})
	}
}

// TestBasisOfMatrixStream compares the spaces of X [Dk, Dv] with plain loops.
func TestBasisOfMatrixStream(t *testing.T) {
	c := matrixModels(t)["layernorm"]
	random := rand.New(rand.NewPCG(9, 9))
	run := filled(t, c, 2, func() float64 { return math.Pow(random.NormFloat64(), 3) })
	r, err := analysis.BasisOf(t.Context(), run, analysis.BasisOptions{})
	require.NoError(t, err)
	x, err := run.Activation("embedding.out")
	require.NoError(t, err)
	s := matrixOf(c)
	at := func(token, key, value int) float64 { return x[(token*s.Dk+key)*s.Dv+value] }
	var size, across float64
	var key, value, entry []float64
	for token := range run.Tokens() {
		for k := range s.Dk {
			across += analysis.Kurtosis(x[(token*s.Dk+k)*s.Dv:][:s.Dv])
			value = append(value, at(token, k, 4))
			size += at(token, k, 4) * at(token, k, 4)
		}
		for v := range s.Dv {
			key = append(key, at(token, 3, v))
		}
		entry = append(entry, at(token, 3, 4))
	}
	require.Len(t, r.Points, 3)
	assert.InDelta(t, analysis.Kurtosis(key), r.Points[0].Kurtosis[3], 1e-12)
	assert.InDelta(t, analysis.Kurtosis(value), r.Points[1].Kurtosis[4], 1e-12)
	assert.InDelta(t, analysis.Kurtosis(entry), r.Points[2].Kurtosis[3*s.Dv+4], 1e-12)
	assert.InDelta(t, math.Sqrt(size/float64(len(value))), r.Points[1].Size[4], 1e-12)
	assert.InDelta(t, across/float64(len(value)), r.Points[1].Across.Own, 1e-12)
	assert.Equal(t, floats.MaxIdx(r.Points[2].Size), r.Points[2].Largest)
	for _, p := range r.Points { // heavy-tailed entries
		assert.Greater(t, p.MeanKurtosis.Own, p.MeanKurtosis.Rotated+3*p.MeanKurtosis.Deviation, p.Space)
	}
}

// TestBasisErrors: what a call can get wrong is one line.
func TestBasisErrors(t *testing.T) {
	c := vectorModels(t)["bias"]
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	measure := func(ids []int32, o analysis.BasisOptions) error {
		_, err := analysis.MeasureBasis(t.Context(), store, c, ids, o)
		return err
	}
	assert.ErrorIs(t, measure([]int32{1}, analysis.BasisOptions{}), check.ValueError{Name: "ids", Got: "1"})
	assert.ErrorIs(t, measure(nil, analysis.BasisOptions{}), check.ValueError{Name: "ids", Got: "0"})
	assert.ErrorIs(t, measure([]int32{1, 2}, analysis.BasisOptions{Seq: 3}), check.ValueError{Name: "ids", Want: "at least one row of 3"})
	assert.ErrorIs(t, measure([]int32{1, 2}, analysis.BasisOptions{Controls: -1}), check.ValueError{Name: "controls"})
	_, err := analysis.BasisOf(t.Context(), logitsOf(t, store, c, []int32{1, 2}, "norm.out"), analysis.BasisOptions{})
	assert.ErrorIs(t, err, check.ValueError{Name: "run", Got: "one without"})
	values := graph.Float64s(store.Param("embedding").Value)
	values[c.Width()+3] = math.NaN()
	require.NoError(t, graph.SetFloat64s(store.Param("embedding").Value, values))
	assert.ErrorIs(t, measure([]int32{1, 2}, analysis.BasisOptions{}), check.ValueError{Name: "embedding.out", Want: "finite numbers"})
}

// TestBasisWords: a kurtosis below the rotated copies' is told from one like theirs, and outliers
// that few directions hold are named.
func TestBasisWords(t *testing.T) {
	const far, near = 12.1, 19.0
	for want, p := range map[string]analysis.BasisPoint{
		"below rotated: few directions hold the outliers": {MeanKurtosis: analysis.Controlled{Own: far, Rotated: 19.1, Deviation: 1.3}, Across: analysis.Controlled{Own: 6.1, Rotated: 2.8, Deviation: 0.15}},
		"below rotated: flatter":                          {MeanKurtosis: analysis.Controlled{Own: far, Rotated: 19.1, Deviation: 1.3}},
		"like rotated":                                    {MeanKurtosis: analysis.Controlled{Own: near, Rotated: 19.1, Deviation: 1.3}, Across: analysis.Controlled{Own: 2.9, Rotated: 2.8, Deviation: 0.15}},
		"few directions hold more than rotated":           {MeanKurtosis: analysis.Controlled{Own: near, Rotated: 19.1, Deviation: 1.3}, Across: analysis.Controlled{Own: 6.1, Rotated: 2.8, Deviation: 0.15}},
		"heavier tails than rotated":                      {MeanKurtosis: analysis.Controlled{Own: 30, Rotated: 19.1, Deviation: 1.3}},
	} {
		assert.Equal(t, want, analysis.BasisWords(p))
		table := (&analysis.BasisReport{Points: []analysis.BasisPoint{p}}).Table()
		assert.Equal(t, want, table.Rows[0][len(table.Header)-1])
	}
}
