package analysis_test

import (
	"cmp"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
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
	"github.com/residua-go/residua/stream"
)

type numpyCircuit struct {
	OV       [][2]float64       `json:"ov_eigenvalues"`
	QK       [][2]float64       `json:"qk_eigenvalues"`
	FullOV   [][2]float64       `json:"full_ov_eigenvalues"`
	FullQK   [][2]float64       `json:"full_qk_eigenvalues"`
	OVScore  float64            `json:"ov_score"`
	QKScore  float64            `json:"qk_score"`
	Copying  float64            `json:"copying_score"`
	Matching float64            `json:"matching_score"`
	Norms    map[string]float64 `json:"norms"`
}

// TestCircuitsAgainstNumpy: eigenvalues, scores and norms of GPT-2's heads are numpy's.
func TestCircuitsAgainstNumpy(t *testing.T) {
	var want struct {
		Circuits [][]numpyCircuit `json:"circuits"`
	}
	numpy(t, &want)
	p := gpt2(t)
	circuits, err := analysis.FindCircuits(t.Context(), p.Store, p.Spec, analysis.CircuitOptions{})
	require.NoError(t, err)
	for l, heads := range want.Circuits {
		for h, w := range heads {
			got, err := circuits.Head(l, h)
			require.NoError(t, err)
			for name, pair := range map[string]struct {
				got    analysis.CircuitSpectrum
				values [][2]float64
				score  float64
			}{"ov": {got.OV, w.OV, w.OVScore}, "qk": {got.QK, w.QK, w.QKScore}, "full_ov": {*got.FullOV, w.FullOV, w.Copying}, "full_qk": {*got.FullQK, w.FullQK, w.Matching}} {
				require.Len(t, pair.got.Eigenvalues, len(pair.values))
				size := math.Hypot(pair.values[0][0], pair.values[0][1])
				for i, v := range pair.values {
					assert.InDelta(t, v[0], pair.got.Eigenvalues[i].Re, 1e-8*size, "%d.%d %s: %d", l, h, name, i)
					assert.InDelta(t, v[1], pair.got.Eigenvalues[i].Im, 1e-8*size, "%d.%d %s: %d", l, h, name, i)
				}
				assert.InDelta(t, pair.score, pair.got.Score, 1e-8, name)
				assert.InEpsilon(t, w.Norms[name], pair.got.Norm, 1e-8, name)
			}
		}
	}
}

// eigenvalues returns the n eigenvalues with the largest moduli.
func eigenvalues(t *testing.T, w mat.Matrix, n int) []complex128 {
	t.Helper()
	var eigen mat.Eigen
	require.True(t, eigen.Factorize(w, mat.EigenNone))
	values := eigen.Values(nil)
	slices.SortFunc(values, func(a, b complex128) int { return cmp.Compare(cmplx.Abs(b), cmplx.Abs(a)) })
	return values[:n]
}

// requireSpectrum compares a spectrum with the eigenvalues of the whole matrix, whatever the
// order of those of equal size, with their score and the norm.
func requireSpectrum(t *testing.T, whole mat.Matrix, got analysis.CircuitSpectrum, what string) {
	t.Helper()
	want := eigenvalues(t, whole, len(got.Eigenvalues))
	size, sum, moduli := cmplx.Abs(want[0]), 0.0, 0.0
	for _, v := range want {
		sum, moduli = sum+real(v), moduli+cmplx.Abs(v)
	}
	for _, v := range got.Eigenvalues {
		i := slices.IndexFunc(want, func(w complex128) bool { return cmplx.Abs(w-complex(v.Re, v.Im)) < 1e-6*size })
		require.GreaterOrEqual(t, i, 0, "%s: %v is none of %v", what, v, want)
		want = slices.Delete(want, i, i+1)
	}
	assert.InDelta(t, sum/moduli, got.Score, 1e-7, what)
	assert.InEpsilon(t, mat.Norm(whole, 2), got.Norm, 1e-9, what)
}

// The multipliers of models with muP.
const (
	inputScale  = 2.5
	outputScale = 1.7
)

// scaledEnds gives a config the multipliers.
func scaledEnds(c *models.Config) {
	c.MuP = &models.MuP{InputMultiplier: inputScale, OutputMultiplier: outputScale}
}

// scaleEnds multiplies a model's tables by muP's multipliers, if it has them.
func scaleEnds(spec models.Spec, embedding, unembedding *mat.Dense) {
	if spec.MuP != nil {
		embedding.Scale(inputScale, embedding)
		unembedding.Scale(outputScale, unembedding)
	}
}

// TestVectorCircuits compares with explicit D x D and V x V matrices, for both norms, heads of
// their own size, tied and untied.
func TestVectorCircuits(t *testing.T) {
	t.Parallel()
	all := zoo(t)
	rms := varied(t, all["vector"], func(c *models.Config) { c.Norm = models.NormRMS })
	scaled := varied(t, all["vector/gpt2"], scaledEnds)
	fixed := varied(t, all["vector/gains"], func(c *models.Config) { c.Attention.ValueResidual = models.ValuesFixed })
	checkedModels := map[string]models.Spec{"gains": all["vector/gains"], "gains/fixed": fixed, "vector": all["vector"], "gpt2": all["vector/gpt2"], "rms": rms, "muP": scaled}
	for _, name := range checked(t, "circuits") {
		checkedModels[name] = all[name]
	}
	for name, c := range checkedModels {
		t.Run(name, func(t *testing.T) {
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			circuits, err := analysis.FindCircuits(t.Context(), store, c, analysis.CircuitOptions{})
			require.NoError(t, err)
			checkVectorCircuits(t, store, c, circuits)
		})
	}
}

func checkVectorCircuits(t *testing.T, store *graph.Store, spec models.Spec, circuits *analysis.Circuits) {
	d, dh, width := spec.Width(), spec.HeadDim(), spec.HeadDim()*spec.HeadCount()
	norm := func(name string) *mat.Dense {
		return normMatrix(graph.Float64s(store.Param(name).Value), spec.Norm == models.NormLayer)
	}
	embedding := parameter(t, store, "embedding", spec.Vocab)
	unembedding := mat.DenseCopyOf(embedding.T())
	if !spec.TieEmbeddings {
		unembedding = parameter(t, store, "unembedding", d)
	}
	scaleEnds(spec, embedding, unembedding)
	for _, h := range circuits.Heads {
		name := fmt.Sprintf("blocks.%d.attention.", h.Layer)
		fold, qkv, o := norm(name+"norm"), parameter(t, store, name+"qkv", d), parameter(t, store, name+"o", width)
		in := func(i int) *mat.Dense {
			return times(fold, qkv.Slice(0, d, i*width+h.Head*dh, i*width+(h.Head+1)*dh), attentionGain(spec, store, name, i))
		}
		out := mat.DenseCopyOf(o.Slice(h.Head*dh, (h.Head+1)*dh, 0, d))
		if scale := store.Param(name + "scale"); scale != nil {
			out = times(out, normMatrix(graph.Float64s(scale.Value), false))
		}
		ov, fullOV := times(in(2), out), times(embedding, in(2), out)
		if factor := firstFactor(spec, store, h.Layer); factor != 0 {
			first := times(norm("blocks.0.attention.norm"), parameter(t, store, "blocks.0.attention.qkv", d).Slice(0, d, 2*width+h.Head*dh, 2*width+(h.Head+1)*dh), out)
			first.Scale(factor, first)
			first.Add(first, ov)
			fullOV = times(embedding, first)
		}
		qk := times(in(0), in(1).T())
		requireSpectrum(t, ov, h.OV, h.Name()+" OV")
		requireSpectrum(t, qk, h.QK, h.Name()+" QK")
		requireSpectrum(t, times(fullOV, norm("norm"), unembedding), *h.FullOV, h.Name()+" full OV")
		requireSpectrum(t, times(embedding, qk, embedding.T()), *h.FullQK, h.Name()+" full QK")
	}
}

// rmt is a small matrix model with its weights as explicit matrices of Dk*Dv.
type rmt struct {
	t     *testing.T
	store *graph.Store
	c     models.Spec
	s     stream.MatrixConfig // its stream's sizes
}

func newRMT(t *testing.T) rmt {
	c := modeltest.Resolve(t, tinyMatrix(func(c *models.Config) { c.Stream, c.Layers = stream.MatrixConfig{Dk: 5, Dv: 4, Rank: 3}, 2 }))
	return rmt{t, modeltest.PerturbedStore(t, c, tensor.Float64), c, matrixOf(c)}
}

// key returns key number i of a parameter, times the gain of the norm that it reads through, if
// that is not "".
func (m rmt) key(name string, i int, norm string) *mat.Dense {
	key := mat.DenseCopyOf(parameter(m.t, m.store, name, len(graph.Float64s(m.store.Param(name).Value))/m.s.Dk).Slice(i, i+1, 0, m.s.Dk))
	if norm == "" {
		return key // [1, Dk]
	}
	gain := parameter(m.t, m.store, norm, m.s.Dk)
	for k := range m.s.Dk {
		mean := 0.0
		for v := range m.s.Dv {
			mean += gain.At(k, v) / float64(m.s.Dv)
		}
		key.Set(0, k, key.At(0, k)*mean)
	}
	return key
}

// whole returns w ⊗ I on vectors of Dk*Dv entries, or R*Dv.
func (m rmt) whole(w mat.Matrix) *mat.Dense {
	one := mat.NewDense(m.s.Dv, m.s.Dv, nil)
	for i := range m.s.Dv {
		one.Set(i, i, 1)
	}
	var big mat.Dense
	big.Kronecker(w, one)
	return &big
}

// head returns a head's keys.
func (m rmt) head(layer, head int) (q, k, v, o *mat.Dense) {
	name := fmt.Sprintf("blocks.%d.attention.", layer)
	read := func(i int) *mat.Dense { return m.key(name+"read", i*m.s.Rank+head, name+"norm") }
	return read(0), read(1), read(2), m.key(name+"write", head, "")
}

// TestMatrixCircuits compares with explicit matrices of (Dk*Dv) x (Dk*Dv) and V x V, with gains
// that differ from column to column and LayerNorm's mean, shared and other heads.
func TestMatrixCircuits(t *testing.T) {
	m := newRMT(t)
	m.check(t)
	m.c = varied(t, m.c, scaledEnds)
	m.check(t)
	m.c = varied(t, newRMT(t).c, func(c *models.Config) {
		c.Attention.KVHeads, c.Attention.QKNorm, c.Attention.ValueResidual = 1, true, models.ValuesLearned
	})
	m.store = modeltest.PerturbedStore(t, m.c, tensor.Float64)
	m.check(t)
}

func (m rmt) check(t *testing.T) {
	circuits, err := analysis.FindCircuits(t.Context(), m.store, m.c, analysis.CircuitOptions{})
	require.NoError(t, err)
	assert.Contains(t, circuits.Table().Note, "hardly more than the sign")
	stored, logits := m.out("embedding"), m.in("unembedding") // [V, Dk*Dv], [Dk*Dv, V]
	for _, h := range circuits.Heads {
		q, k, v, o := m.in(h.Name()+".q"), m.in(h.Name()+".k"), m.in(h.Name()+".v"), m.out(h.Name())
		ov, qk := times(v, o), times(q, k.T())
		requireSpectrum(t, ov, h.OV, h.Name()+" OV")
		requireSpectrum(t, qk, h.QK, h.Name()+" QK")
		if factor := firstFactor(m.c, m.store, h.Layer); factor != 0 {
			first := m.in(headName(0, h.Head) + ".v")
			first.Scale(factor, first)
			ov.Add(ov, times(first, o))
		}
		require.Len(t, h.FullOV.Eigenvalues, m.s.Dv)
		requireSpectrum(t, times(stored, ov, logits), *h.FullOV, h.Name()+" full OV")
		requireSpectrum(t, times(stored, qk, stored.T()), *h.FullQK, h.Name()+" full QK")
	}
}

func headName(layer, head int) string { return fmt.Sprintf("blocks.%d.attention.%d", layer, head) }

// TestCircuitsOfEveryStream: all but the LSTM have them, with and without a run, in JSON and
// in pictures.
func TestCircuitsOfEveryStream(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		if !supports(c, weighted) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			run, _ := decompose(t, c, tensor.Float32)
			for _, o := range []analysis.CircuitOptions{{}, {Run: run}, {WithoutVocabulary: true}} {
				circuits, err := analysis.FindCircuits(t.Context(), run.Model().Store(), c, o)
				require.NoError(t, err)
				require.Len(t, circuits.Heads, c.Layers*c.HeadCount())
				requireResult(t, circuits)
				head, err := circuits.Head(c.Layers-1, c.HeadCount()-1)
				require.NoError(t, err)
				requireResult(t, head)
			}
		})
	}
}

// TestCircuitErrors: what a call can get wrong is one line.
func TestCircuitErrors(t *testing.T) {
	c := zoo(t)["vector"]
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	circuits, err := analysis.FindCircuits(t.Context(), store, c, analysis.CircuitOptions{WithoutVocabulary: true})
	require.NoError(t, err)
	_, err = circuits.Head(9, 0)
	assert.ErrorIs(t, err, check.RangeError{Name: "layer", N: 4, Got: 9})
	_, err = circuits.Head(0, 3)
	assert.ErrorIs(t, err, check.RangeError{Name: "head", N: 3, Got: 3})
	other := unsupporting(t, weighted)
	_, err = analysis.FindCircuits(t.Context(), modeltest.NewStore(t, other, tensor.Float32, 0), other, analysis.CircuitOptions{})
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
	other = varied(t, zoo(t)["matrix"], func(v *models.Config) { v.Layers = c.Layers })
	run, _ := decompose(t, other, tensor.Float32)
	_, err = analysis.FindCircuits(t.Context(), store, c, analysis.CircuitOptions{Run: run})
	assert.ErrorContains(t, err, "run: want one of the same model: model.stream.kind: want matrix, got vector")
	values := graph.Float64s(store.Param("blocks.0.attention.o").Value)
	values[0] = math.NaN()
	require.NoError(t, graph.SetFloat64s(store.Param("blocks.0.attention.o").Value, values))
	_, err = analysis.FindCircuits(t.Context(), store, c, analysis.CircuitOptions{WithoutVocabulary: true})
	assert.ErrorIs(t, err, check.ValueError{Name: "eigenvalues of a circuit of rank 4"})
}
