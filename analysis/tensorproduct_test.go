package analysis_test

import (
	"fmt"
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
)

// tensorModels returns the zoo's models and some with other attentions.
func tensorModels(t *testing.T) map[string]models.Spec {
	all := zoo(t)
	with := func(name string, f func(c *models.Config)) models.Spec { return varied(t, all[name], f) }
	all["vector/gpt2/rope"] = with("vector/gpt2", func(c *models.Config) { c.Attention.Positions, c.Attention.HeadDim = models.PositionsRoPE, 6 })
	all["vector/gpt2/alibi"] = with("vector/gpt2", func(c *models.Config) {
		c.Attention.Positions, c.Attention.InverseLayerScaling = models.PositionsALiBi, true
	})
	all["vector/moe/rope"] = with("vector/moe", func(c *models.Config) { c.Attention.Positions = models.PositionsRoPE })
	for _, name := range checked(t, "alibi") {
		all[name+"/alibi"] = with(name, func(c *models.Config) { c.Attention.Positions = models.PositionsALiBi })
	}
	all["matrix/bias/rope"] = with("matrix/bias", func(c *models.Config) { c.Attention.Positions = models.PositionsRoPE })
	all["matrix/documents"] = with("matrix/authors", func(c *models.Config) { c.MaskDocuments, c.BOS = true, 3 })
	all["vector/gpt2/shared"] = with("vector/gpt2", func(c *models.Config) {
		c.Attention = models.Attention{Heads: 4, KVHeads: 2, HeadDim: 6, Positions: models.PositionsRoPE}
	})
	for _, name := range checked(t, "shared heads", "matrix/bias") {
		all[name+"/shared"] = with(name, func(c *models.Config) { c.Attention.KVHeads = 1 })
	}
	left := excepted(t, "tensor product")
	for name, c := range all {
		if !supports(c, weighted) || left(name, c) {
			delete(all, name)
		}
	}
	return all
}

// TestTensorProduct: (A ⊗ W_OV) applied to the whole sequence is what each head wrote, for
// every stream whose heads read after a norm, and all heads with W_O's bias are what
// attention wrote.
func TestTensorProduct(t *testing.T) {
	t.Parallel()
	for name, c := range tensorModels(t) {
		t.Run(name, func(t *testing.T) {
			longtest.Select(t, !strings.Contains(name, "/") || strings.HasSuffix(name, "/shared"))
			for dt, bound := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-5} {
				store := modeltest.PerturbedStore(t, c, dt)
				layer := c.Layers - 1
				if c.Attention.ValueResidual != "" {
					layer = 0
				}
				write := fmt.Sprintf("blocks.%d.attention.write", layer)
				r, err := cache.New(store, c, cache.Options{Names: append(analysis.TensorProductNames(layer), write)})
				require.NoError(t, err)
				run, err := r.Run(tokensFor(c, c.Seq, 5))
				require.NoError(t, err)
				r.Close()
				checkHeads(t, run, layer, write, bound)
			}
		})
	}
}

// checkHeads compares each head's form with what it wrote, and their sum with what attention
// wrote.
func checkHeads(t *testing.T, run *cache.Cache, layer int, write string, bound float64) {
	c := run.Model().Spec()
	want, err := run.Activation(write)
	require.NoError(t, err)
	sum := make([]float64, len(want))
	size := len(want) / run.Tokens()
	for head := range c.HeadCount() {
		p, err := analysis.TensorProductOf(run, layer, head)
		require.NoError(t, err)
		require.Len(t, p.Output, run.Tokens())
		assert.Positive(t, p.Largest)
		assert.LessOrEqual(t, p.Deviation, bound*p.Largest, "head %d", head)
		for i, out := range p.Output {
			require.InDeltaSlice(t, p.Written[i], out, bound*p.Largest)
			floats.Add(sum[i*size:][:size], out)
		}
		checkResult(t, p)
	}
	if excepted(t, "heads are the site")("", c) {
		return // next to the heads the unit writes
	}
	store, bias := run.Model().Store(), make([]float64, size)
	if o := store.Param(fmt.Sprintf("blocks.%d.attention.o_bias", layer)); o != nil {
		bias = graph.Float64s(o.Value)
	}
	if latents(store) {
		bias = times(mat.NewDense(1, c.Width(), bias[:c.Width()]), parameter(t, store, fmt.Sprintf("blocks.%d.attention.wide.up", layer), c.Width())).RawMatrix().Data
	}
	for i := range sum {
		sum[i] += bias[i%size]
	}
	assert.InDeltaSlice(t, want, sum, 3*bound*floats.Norm(want, 2))
}

// TestTensorProductMoves: what a query gets of a key is the length of A[t, s] x_s W_OV; a head
// with one key alone moves all there is.
func TestTensorProductMoves(t *testing.T) {
	for _, name := range []string{"vector/gpt2", "matrix"} {
		c := zoo(t)[name]
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		p, err := analysis.RunTensorProduct(store, c, tokensFor(c, 6, 2), 1, 2)
		require.NoError(t, err)
		assert.LessOrEqual(t, p.Deviation, 1e-12*p.Largest)
		assert.InDelta(t, floats.Norm(p.Output[0], 2), p.Moved[0][0], 1e-12, "the first token sees itself alone")
		assert.Zero(t, p.Moved[2][3])
		one, err := analysis.RunTensorProduct(store, c, tokensFor(c, 1, 2), 0, 0)
		require.NoError(t, err)
		assert.LessOrEqual(t, one.Deviation, 1e-12*one.Largest)
	}
}

// TestTensorProductWithoutValueEmbeddings: a head that also writes value embeddings is no map of
// the stream; a layer without them has its form.
func TestTensorProductWithoutValueEmbeddings(t *testing.T) {
	c := varied(t, vectorModels(t)["layernorm"], func(c *models.Config) { c.Attention.ValueEmbeddings = 4 })
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	p, err := analysis.RunTensorProduct(store, c, tokensFor(c, 6, 2), 1, 2)
	require.NoError(t, err)
	assert.LessOrEqual(t, p.Deviation, 1e-12*p.Largest)
	_, err = analysis.RunTensorProduct(store, c, tokensFor(c, 6, 2), 0, 2)
	assert.ErrorIs(t, err, check.ValueError{Name: "layer", Got: "0"})
}

// TestTensorProductOfAnotherRun: where the run's heads were changed, the form is not what
// they wrote.
func TestTensorProductOfAnotherRun(t *testing.T) {
	c := zoo(t)["vector"]
	r, err := cache.New(modeltest.PerturbedStore(t, c, tensor.Float64), c, cache.Options{Names: analysis.TensorProductNames(0)})
	require.NoError(t, err)
	defer r.Close()
	run, err := r.Run(tokensFor(c, c.Seq, 5), cache.Ablate("blocks.0.attention.heads", cache.At{"token": 3}))
	require.NoError(t, err)
	p, err := analysis.TensorProductOf(run, 0, 1)
	require.NoError(t, err)
	assert.InDelta(t, floats.Norm(p.Output[3], 1), floats.Distance(p.Output[3], p.Written[3], 1), 1e-12)
	assert.Greater(t, p.Deviation, 0.01)
	_, err = analysis.TensorProductOf(run, 4, 0)
	assert.ErrorIs(t, err, check.RangeError{Name: "layer", N: 4, Got: 4})
	_, err = analysis.TensorProductOf(run, 0, -1)
	assert.ErrorIs(t, err, check.RangeError{Name: "head", N: 3, Got: -1})
	_, err = analysis.TensorProductOf(run, 1, 0)
	assert.ErrorIs(t, err, cache.NotKeptError{Name: "blocks.1.attention.norm.out"})
	_, err = analysis.RunTensorProduct(run.Model().Store(), c, []int32{1, 2}, 9, 0)
	assert.ErrorIs(t, err, check.RangeError{Name: "layer", N: 4, Got: 9})
	_, err = analysis.RunTensorProduct(run.Model().Store(), c, nil, 0, 0)
	assert.ErrorIs(t, err, check.ValueError{Name: "prompt", Got: "none"})
	other := unsupporting(t, weighted)
	_, err = analysis.RunTensorProduct(modeltest.NewStore(t, other, tensor.Float32, 0), other, []int32{1}, 0, 0)
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
}
