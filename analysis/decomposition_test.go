package analysis_test

import (
	"math"
	"math/rand/v2"
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
)

// decompose runs a model of random weights and takes it apart.
func decompose(t *testing.T, spec models.Spec, dt tensor.Dtype) (*cache.Cache, *analysis.Decomposition) {
	t.Helper()
	run, err := analysis.Run(modeltest.PerturbedStore(t, spec, dt), spec, tokensFor(spec, spec.Seq, 3))
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	return run, d
}

func tokensFor(spec models.Spec, n int, seed uint64) []int32 {
	draw, ids := rand.New(rand.NewPCG(seed, 1)), make([]int32, n)
	for i := range ids {
		ids[i] = int32(draw.IntN(spec.Vocab))
	}
	return ids
}

// TestDecomposeRows: in a run of several rows each row has the same terms as in a run by itself.
func TestDecomposeRows(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		t.Run(name, func(t *testing.T) {
			store, seq := modeltest.PerturbedStore(t, c, tensor.Float64), 4
			names, err := analysis.DecompositionNames(store, c)
			require.NoError(t, err)
			r, err := cache.New(store, c, cache.Options{Names: names, Batch: 2, Seq: seq})
			require.NoError(t, err)
			defer r.Close()
			ids := tokensFor(c, 2*seq, 3)
			both, err := r.Run(ids)
			require.NoError(t, err)
			d, err := analysis.Decompose(both)
			require.NoError(t, err)
			single, err := analysis.Run(store, c, ids[seq:])
			require.NoError(t, err)
			alone, err := analysis.Decompose(single)
			require.NoError(t, err)
			for token := range seq {
				modeltest.CheckStream(t, d, seq+token, 1e-12)
				want, err := alone.Attribute(token, 1, 2)
				require.NoError(t, err)
				got, err := d.Attribute(seq+token, 1, 2)
				require.NoError(t, err)
				require.Len(t, got.Contributions, len(want.Contributions))
				for i, c := range want.Contributions {
					assert.InDelta(t, c.Value, got.Contributions[i].Value, 1e-11, c.Name())
				}
			}
		})
	}
}

// TestDecomposeOneToken: the terms of a prompt of one token add up, too.
func TestDecomposeOneToken(t *testing.T) {
	t.Parallel()
	for name, c := range few(t) {
		t.Run(name, func(t *testing.T) {
			run, err := analysis.Run(modeltest.PerturbedStore(t, c, tensor.Float64), c, []int32{4})
			require.NoError(t, err)
			d, err := analysis.Decompose(run)
			require.NoError(t, err)
			modeltest.CheckStream(t, d, 0, 1e-12)
			checkLogits(t, run, d, 0, 1e-12)
		})
	}
}

// TestDecompositionSums: for every stream the terms of all writers' parts add up to the
// model's own stream, and their contributions to its logits; in float64, among the long tests also
// in float32.
func TestDecompositionSums(t *testing.T) {
	t.Parallel()
	all := withOptions(t, few(t))
	all["vector/mup/input"] = varied(t, zoo(t)["vector/mup"], func(c *models.Config) {
		c.MuP = &models.MuP{Base: models.MuPBase{Stream: vectorOf(6)}, InputMultiplier: 2.5}
	})
	all["vector/soft-cap"] = varied(t, zoo(t)["vector/mup"], softCapped)
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			bounds := map[tensor.Dtype]float64{tensor.Float64: 1e-12}
			if longtest.Enabled() {
				bounds[tensor.Float32] = 1e-5
			}
			for dt, bound := range bounds {
				run, d := decompose(t, c, dt)
				for token := range c.Seq {
					modeltest.CheckStream(t, d, token, bound)
					checkLogits(t, run, d, token, bound)
				}
			}
		})
	}
}

// checkLogits compares attributions with the model's logits, before a soft cap.
func checkLogits(t *testing.T, run *cache.Cache, d *analysis.Decomposition, token int, bound float64) {
	logits, err := run.TokenLogits(token)
	require.NoError(t, err)
	size := floats.Norm(logits, math.Inf(1))
	for target := range run.Vocab {
		for _, against := range []int{-1, (target + 1) % run.Vocab} {
			a, err := d.Attribute(token, target, against)
			require.NoError(t, err)
			want := run.Model().UncappedLogit(logits[target])
			if against >= 0 {
				want -= run.Model().UncappedLogit(logits[against])
			}
			assert.InDelta(t, want, a.Sum, 2*bound*size, "token %d, logit %d against %d", token, target, against)
			assert.Equal(t, want, a.Logit)
		}
	}
}

// TestLastTermIsWhatAblationTakesAway: a term is what an intervention on its activation takes away,
// where nothing after it depends on it: the last writer's. The designs' files say after which
// models' last sites comes what depends on it.
func TestLastTermIsWhatAblationTakesAway(t *testing.T) {
	t.Parallel()
	left := excepted(t, "last term")
	for name, c := range few(t) {
		if left(name, c) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			names, err := analysis.DecompositionNames(store, c)
			require.NoError(t, err)
			r, err := cache.New(store, c, cache.Options{Names: names})
			require.NoError(t, err)
			defer r.Close()
			ids := tokensFor(c, c.Seq, 4)
			run, err := r.Run(ids)
			require.NoError(t, err)
			d, err := analysis.Decompose(run)
			require.NoError(t, err)
			writers := d.Writers()
			last := writers[len(writers)-1]
			ablated, err := r.Run(ids, cache.Ablate(last.Activation, nil))
			require.NoError(t, err)
			checkAblation(t, c, d, ablated, last.Name)
		})
	}
}

func checkAblation(t *testing.T, spec models.Spec, d *analysis.Decomposition, ablated *cache.Cache, last string) {
	after, err := analysis.Decompose(ablated)
	require.NoError(t, err)
	for token := range spec.Seq {
		bias, err := d.BiasTerm(last, token)
		require.NoError(t, err)
		want, err := d.WriterTerm(last, token)
		require.NoError(t, err)
		floats.Sub(want, bias)
		got, err := d.Output(token)
		require.NoError(t, err)
		without, err := after.Output(token)
		require.NoError(t, err)
		floats.Sub(got, without)
		require.InDeltaSlice(t, want, got, 1e-11, "token %d", token)
	}
}

// TestDecomposeErrors: what a call can get wrong is one line.
func TestDecomposeErrors(t *testing.T) {
	c := zoo(t)["vector"]
	run, d := decompose(t, c, tensor.Float32)
	_, err := d.Term("blocks.0.atention", 0, 0)
	assert.ErrorIs(t, err, check.UnknownNameError{Kind: "writer", Name: "blocks.0.atention", Nearest: "blocks.0.attention"})
	_, err = d.Term("blocks.0.attention", 3, 0)
	assert.ErrorIs(t, err, check.RangeError{Name: "blocks.0.attention: head", N: 3, Got: 3})
	_, err = d.Term("embedding", 0, 9)
	assert.ErrorIs(t, err, check.RangeError{Name: "token", N: 9, Got: 9})
	_, err = d.Attribute(0, 13, -1)
	assert.ErrorIs(t, err, check.RangeError{Name: "target id", N: 13, Got: 13})
	_, err = d.Attribute(0, 1, 13)
	assert.ErrorIs(t, err, check.RangeError{Name: "id to compare with", N: 13, Got: 13})
	_, err = analysis.Run(run.Model().Store(), c, nil)
	assert.ErrorIs(t, err, check.ValueError{Name: "prompt", Got: "none"})
	_, err = d.Output(-1)
	assert.ErrorIs(t, err, check.RangeError{Name: "token", N: 9, Got: -1})
	_, err = d.Constant(9)
	assert.ErrorIs(t, err, check.RangeError{Name: "token", N: 9, Got: 9})
	_, err = d.BiasTerm("embedding", 9)
	assert.ErrorIs(t, err, check.RangeError{Name: "token", N: 9, Got: 9})
	r, err := cache.New(run.Model().Store(), c, cache.Options{})
	require.NoError(t, err)
	defer r.Close()
	bare, err := r.Run(run.IDs)
	require.NoError(t, err)
	_, err = analysis.Decompose(bare)
	assert.ErrorIs(t, err, cache.NotKeptError{Name: "blocks.3.feedforward.stream"})
	_, err = analysis.Decompose(run)
	assert.NoError(t, err)
}

// TestConcatenatedHeadsAreASum: concatenating the heads' results and multiplying by W_O is adding
// what each head writes by its own rows of W_O (Elhage et al. 2021, "Attention Heads are
// Independent and Additive"),
//
//	(r_1 | ... | r_H) (W_O^1; ...; W_O^H) = sum_h r_h W_O^h
//
// and so are the terms of a decomposition, and what the model adds to its stream.
func TestConcatenatedHeadsAreASum(t *testing.T) {
	for _, name := range []string{"vector", "vector/gpt2", "vector/attention-only"} {
		c := zoo(t)[name]
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		run, err := analysis.Run(store, c, tokensFor(c, c.Seq, 3), "blocks.1.attention.*")
		require.NoError(t, err)
		d, err := analysis.Decompose(run)
		require.NoError(t, err)
		heads, err := run.Activation("blocks.1.attention.heads") // [T, H Dh]
		require.NoError(t, err)
		write, err := run.Activation("blocks.1.attention.write") // [T, D]
		require.NoError(t, err)
		width, dh, tokens := c.HeadCount()*c.HeadDim(), c.HeadDim(), run.Tokens()
		together, output := mat.NewDense(tokens, width, heads), parameter(t, store, "blocks.1.attention.o", width)
		var whole mat.Dense
		whole.Mul(together, output) // [T, D]
		_, size := whole.Dims()
		sum := mat.NewDense(tokens, size, nil)
		for h := range c.HeadCount() {
			var one mat.Dense
			one.Mul(together.Slice(0, tokens, h*dh, (h+1)*dh), output.Slice(h*dh, (h+1)*dh, 0, size))
			sum.Add(sum, &one)
			term, err := d.Term("blocks.1.attention", h, 2)
			require.NoError(t, err)
			assert.InDeltaSlice(t, one.RawRowView(2), term, 1e-12, "%s: head %d", name, h)
		}
		assert.True(t, mat.EqualApprox(&whole, sum, 1e-12), name)
		bias := make([]float64, size)
		if p := store.Param("blocks.1.attention.o_bias"); p != nil {
			bias = graph.Float64s(p.Value)
		}
		for i, v := range write {
			assert.InDelta(t, v, sum.At(i/size, i%size)+bias[i%size], 1e-12, name)
		}
	}
}
