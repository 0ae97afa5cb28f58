package analysis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
)

// TestSubspacesAgainstSVD compares spectra, ranks and overlaps with a singular value
// decomposition of weights folded entry by entry.
func TestSubspacesAgainstSVD(t *testing.T) {
	all := zoo(t)
	all["vector/mup"] = varied(t, all["vector/mup"], func(c *models.Config) {
		c.MuP = &models.MuP{Base: models.MuPBase{Stream: vectorOf(6)}, InputMultiplier: 2.5, OutputMultiplier: 1.7}
	})
	for _, name := range checked(t, "subspaces", "vector", "vector/gpt2", "vector/mup", "vector/moe", "matrix", "matrix/authors", "matrix/moe") {
		t.Run(name, func(t *testing.T) {
			c := all[name]
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			s, err := analysis.FindSubspaces(t.Context(), store, c)
			require.NoError(t, err)
			accesses := accessesOf(c, store)
			require.Len(t, s.Sites, len(accesses))
			bases := make([]*mat.Dense, len(accesses))
			for i, a := range accesses {
				bases[i] = checkSpectrum(t, s.Sites[i], a)
			}
			checkOverlaps(t, s.Overlaps, accesses, bases)
			checkResult(t, s)
		})
	}
}

// checkSpectrum compares a site's spectrum, and returns the basis of its top directions.
func checkSpectrum(t *testing.T, got analysis.SiteSpectrum, want access) *mat.Dense {
	require.Equal(t, want.site, got.Site)
	require.Equal(t, want.reads, got.Reads)
	values, basis := svd(t, want.w)
	require.InDeltaSlice(t, values, got.Singular, 5e-8*values[0], want.site)
	total, entropy := 0.0, 0.0
	for _, v := range values {
		total += v * v
	}
	for _, v := range values {
		if p := v * v / total; p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	d, k := basis.Dims()
	assert.InDelta(t, math.Exp(entropy), got.Effective, 1e-9)
	assert.InDelta(t, total/(values[0]*values[0]), got.Stable, 1e-9)
	assert.Equal(t, k, got.Directions)
	assert.Equal(t, d, got.Dimensions)
	return basis
}

// checkOverlaps compares the overlaps with the cosines of principal angles.
func checkOverlaps(t *testing.T, got []analysis.Overlap, accesses []access, bases []*mat.Dense) {
	next := 0
	for i, w := range accesses {
		for j, r := range accesses {
			if w.reads || !r.reads || j < i {
				continue
			}
			var products mat.Dense
			products.Mul(bases[i].T(), bases[j])
			var s mat.SVD
			require.True(t, s.Factorize(&products, mat.SVDNone))
			sum, angles := 0.0, s.Values(nil)
			for _, cosine := range angles {
				sum += cosine * cosine
			}
			o := got[next]
			next++
			require.Equal(t, w.site, o.Writer)
			require.Equal(t, r.site, o.Reader)
			require.InDelta(t, sum/float64(len(angles)), o.Cosine, 1e-9, "%s to %s", w.site, r.site)
		}
	}
	assert.Len(t, got, next)
}

// TestSpectraAgainstNumpy: the singular values of GPT-2's W_O and of its tied embedding, as it
// writes and as it is read after the folded norm.
func TestSpectraAgainstNumpy(t *testing.T) {
	var want struct {
		Basis struct {
			Singular struct {
				O         [][]float64 `json:"o"`
				Embedding []float64   `json:"unembedding"`
				Folded    []float64   `json:"unembedding_folded"`
			} `json:"singular_values"`
		} `json:"basis"`
	}
	numpy(t, &want)
	p := gpt2(t)
	s, err := analysis.FindSubspaces(t.Context(), p.Store, p.Spec)
	require.NoError(t, err)
	got := map[string][]float64{}
	for _, site := range s.Sites {
		if !site.Reads || site.Site == "unembedding" {
			got[site.Site] = site.Singular
		}
	}
	assert.InDeltaSlice(t, want.Basis.Singular.O[0], got["blocks.0.attention"], 1e-6)
	assert.InDeltaSlice(t, want.Basis.Singular.O[1], got["blocks.1.attention"], 1e-6)
	assert.InDeltaSlice(t, want.Basis.Singular.Embedding, got["embedding"], 1e-6)
	assert.InDeltaSlice(t, want.Basis.Singular.Folded, got["unembedding"], 1e-6)
}

// plantedStore has weights of which it is known what they read and write of 12 entries.
func plantedStore(t *testing.T, spec models.Spec) *graph.Store {
	store := modeltest.PerturbedStore(t, spec, tensor.Float64)
	plant := func(name string, f func(i, j int) bool) {
		p := store.Param(name)
		values, columns := make([]float64, p.Size()), p.Shape[len(p.Shape)-1]
		for i := range values {
			values[i] = map[bool]float64{true: 1}[f(i/columns, i%columns)]
		}
		require.NoError(t, graph.SetFloat64s(p.Value, values))
	}
	all := func(int, int) bool { return true }
	plant("blocks.0.feedforward.norm", all)
	plant("blocks.1.attention.norm", all)
	plant("blocks.0.attention.o", func(i, j int) bool { return j < 3 && i%3 == j })    // writes entries 0 to 2
	plant("blocks.0.feedforward.w1", func(i, j int) bool { return i < 6 && j%6 == i }) // reads 0 to 5
	plant("blocks.0.feedforward.w2", func(i, j int) bool { return j == 11 && i == 4 }) // writes 11
	plant("blocks.1.attention.qkv", func(i, j int) bool { return i <= 1 })             // reads 0 + 1
	return store
}

// TestPlantedSubspaces: a write into exactly what is read overlaps fully, one into what is
// not read not at all; ranks of weights that are known.
func TestPlantedSubspaces(t *testing.T) {
	c := varied(t, zoo(t)["vector"], func(c *models.Config) { c.Norm = models.NormRMS })
	s, err := analysis.FindSubspaces(t.Context(), plantedStore(t, c), c)
	require.NoError(t, err)
	overlaps, random := map[string]float64{}, map[string]float64{}
	for _, o := range s.Overlaps {
		overlaps[o.Writer+" to "+o.Reader], random[o.Writer+" to "+o.Reader] = o.Cosine, o.Random
	}
	assert.InDelta(t, 1, overlaps["blocks.0.attention to blocks.0.feedforward"], 1e-12)
	assert.InDelta(t, 6./12, random["blocks.0.attention to blocks.0.feedforward"], 1e-12)
	assert.InDelta(t, 1, overlaps["blocks.0.attention to blocks.1.attention"], 1e-12)
	assert.InDelta(t, 3./12, random["blocks.0.attention to blocks.1.attention"], 1e-12)
	assert.InDelta(t, 0, overlaps["blocks.0.feedforward to blocks.1.attention"], 1e-12)
	assert.InDelta(t, 1./12, random["blocks.0.feedforward to blocks.1.attention"], 1e-12)
	ranks := map[string]float64{"blocks.0.attention false": 3, "blocks.0.feedforward false": 1, "blocks.1.attention true": 1}
	found := 0
	for _, site := range s.Sites {
		if want, known := ranks[fmt.Sprint(site.Site, " ", site.Reads)]; known {
			found++
			assert.InDelta(t, want, site.Effective, 1e-9)
			assert.InDelta(t, want, site.Stable, 1e-9)
			assert.InDelta(t, want, site.Directions, 0)
		}
	}
	assert.Equal(t, len(ranks), found)
}

// TestRandomOverlap: mean and variance of random subspaces' overlap, by Monte Carlo.
func TestRandomOverlap(t *testing.T) {
	const samples = 2000
	draw := rand.New(rand.NewPCG(5, 6))
	for _, k := range [][3]int{{1, 1, 4}, {2, 5, 9}, {6, 6, 8}, {3, 1, 2 + 3}, {4, 7, 20}} {
		mean, deviation := analysis.RandomOverlap(k[0], k[1], k[2])
		overlaps, spread := make([]float64, samples), make([]float64, samples)
		for i := range samples {
			u := randomBasis(draw, k[0], k[2])
			for d := range k[1] { // against the first k[1] coordinates
				for j := range k[0] {
					overlaps[i] += u.At(d, j) * u.At(d, j) / float64(min(k[0], k[1]))
				}
			}
			spread[i] = (overlaps[i] - mean) * (overlaps[i] - mean)
		}
		withinErrors(t, mean, overlaps, "mean of %v", k)
		withinErrors(t, deviation*deviation, spread, "variance of %v", k)
	}
	mean, deviation := analysis.RandomOverlap(1, 1, 1)
	assert.Equal(t, []float64{1, 0}, []float64{mean, deviation})
	mean, deviation = analysis.RandomOverlap(0, 3, 4)
	assert.Equal(t, []float64{0, 0}, []float64{mean, deviation})
}

// randomBasis draws k orthonormal columns of d entries.
func randomBasis(draw *rand.Rand, k, d int) *mat.Dense {
	x := mat.NewDense(d, k, nil)
	x.Apply(func(int, int, float64) float64 { return draw.NormFloat64() }, x)
	var qr mat.QR
	var q mat.Dense
	qr.Factorize(x)
	qr.QTo(&q)
	return mat.DenseCopyOf(q.Slice(0, d, 0, k))
}

// TestSubspacesOfEveryStream: all streams have them or say that they have not; a fresh
// model's unembedding of zeros has rank 0.
func TestSubspacesOfEveryStream(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		s, err := analysis.FindSubspaces(t.Context(), modeltest.NewStore(t, c, tensor.Float32, 1), c)
		if !supports(c, weighted) {
			assert.ErrorIs(t, err, check.UnsupportedError{Stream: c.Stream.Name()})
			continue
		}
		require.NoError(t, err, name)
		checkResult(t, s)
		last := s.Sites[len(s.Sites)-1]
		if last.Site == "unembedding" && !supports(c, keyed) && !c.TieEmbeddings {
			assert.Zero(t, last.Effective+last.Stable+float64(last.Directions), name)
		}
	}
	_, err := analysis.FindSubspaces(t.Context(), nil, zoo(t)["vector"])
	assert.ErrorIs(t, err, models.ErrNoParameters)
	_, err = analysis.FindSubspaces(t.Context(), nil, models.Spec{})
	assert.ErrorIs(t, err, check.ValueError{Name: "model", Got: "the zero value"})
	store := modeltest.PerturbedStore(t, zoo(t)["vector"], tensor.Float32)
	store.Param("blocks.2.attention.o").Value.Float32s()[7] = float32(math.NaN())
	_, err = analysis.FindSubspaces(t.Context(), store, zoo(t)["vector"])
	assert.ErrorIs(t, err, check.ValueError{Name: "singular values of 12 x 12 entries", Got: "some that are not"})
	assert.ErrorContains(t, err, "blocks.2.attention")
}
