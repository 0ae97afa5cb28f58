package analysis_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

var (
	cachedMatrix = models.Config{Stream: stream.MatrixConfig{Dk: 5, Dv: 6, Rank: 3}, Layers: 2, FeedForward: layers.GELUConfig{Hidden: 11}, Vocab: 13, Seq: 6}
	cachedVector = models.Config{Stream: stream.VectorConfig{Vectors: stream.Vectors{D: 12}}, Attention: models.Attention{Heads: 3}, Layers: 2,
		FeedForward: layers.GELUConfig{Hidden: 17}, Vocab: 13, Seq: 6, Bias: true}
	cachedHyper = models.Config{Stream: stream.HyperConfig{Vectors: stream.Vectors{D: 12}, N: 4}, Attention: models.Attention{Heads: 3}, Layers: 2,
		FeedForward: layers.GELUConfig{Hidden: 17}, Vocab: 13, Seq: 6}
	cachedIDs = []int32{1, 7, 3, 0, 12, 5}
)

func cacheRunner(t *testing.T, config models.Config, names ...string) *cache.Runner {
	t.Helper()
	c := modeltest.Resolve(t, config)
	r, err := cache.New(modeltest.PerturbedStore(t, c, tensor.Float64), c, cache.Options{Names: names})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func runCache(t *testing.T, r *cache.Runner, replace ...cache.Intervention) *cache.Cache {
	t.Helper()
	c, err := r.Run(cachedIDs, replace...)
	require.NoError(t, err)
	return c
}

func cachedActivation(t *testing.T, c *cache.Cache, name string) cache.Activation {
	t.Helper()
	a, err := c.Get(name)
	require.NoError(t, err)
	return a
}

// TestCacheGlobs: a * matches one part between dots, and names are in the order in which the run
// computes them.
func TestCacheGlobs(t *testing.T) {
	r := cacheRunner(t, cachedMatrix, "blocks.*.feedforward.hidden", "embedding.out", "blocks.0.*.stream")
	assert.Equal(t, []string{"embedding.out", "blocks.0.attention.stream", "blocks.0.feedforward.hidden", "blocks.0.feedforward.stream",
		"blocks.1.feedforward.hidden"}, r.Names())
	assert.Equal(t, r.Names(), runCache(t, r).Names())
}

// TestCacheReadAt: choices are read as flags write them; a refused text changes nothing.
func TestCacheReadAt(t *testing.T) {
	var at cache.At
	require.NoError(t, at.UnmarshalText([]byte("head=3, token=-1")))
	for _, text := range []string{"", "head", "=3", "head=x", "head=3,"} {
		assert.EqualError(t, at.UnmarshalText([]byte(text)), fmt.Sprintf("want AXIS=N,..., such as head=3,token=5, got %q", text))
	}
	assert.Equal(t, cache.At{"head": 3, "token": -1}, at)
}

// TestCacheAxes: activations know their axes, and those without tokens say so.
func TestCacheAxes(t *testing.T) {
	for name, row := range map[string]struct {
		config models.Config
		axes   []string
		shape  []int
	}{
		"embedding.out":                   {cachedMatrix, []string{"token", "key", "value"}, []int{6, 5, 6}},
		"blocks.1.feedforward.in":         {cachedMatrix, []string{"token", "rank", "value"}, []int{6, 3, 6}},
		"blocks.1.feedforward.hidden":     {cachedVector, []string{"token", "neuron"}, []int{6, 17}},
		"blocks.0.attention.stream":       {cachedVector, []string{"token", "feature"}, []int{6, 12}},
		"blocks.0.attention.pattern":      {cachedVector, []string{"token", "head", "key"}, []int{6, 3, 6}},
		"blocks.0.attention.heads":        {cachedMatrix, []string{"token", "head", "value"}, []int{6, 3, 6}},
		"blocks.1.attention.coefficients": {cachedHyper, []string{"row", "coefficient"}, []int{4, 6}},
	} {
		a := cachedActivation(t, runCache(t, cacheRunner(t, row.config, name)), name)
		assert.Equal(t, row.axes, a.Axes, name)
		assert.Equal(t, row.shape, a.Shape, name)
		assert.Len(t, a.Values, tensor.Shape(row.shape).TotalSize())
	}
}

// TestActivationSelect: chosen entries come in order, and a token of what has no token axis is all
// of it.
func TestActivationSelect(t *testing.T) {
	a := cache.Activation{Name: "x", Axes: []string{graph.TokenAxis, "head", "entry"}, Shape: []int{2, 2, 3}}
	for i := range 12 {
		a.Values = append(a.Values, float64(i))
	}
	for _, row := range []struct {
		at   cache.At
		want []float64
	}{
		{nil, a.Values}, {cache.At{"token": 1, "head": 0}, []float64{6, 7, 8}}, {cache.At{"head": 1}, []float64{3, 4, 5, 9, 10, 11}}, {cache.At{"entry": 2, "token": 0}, []float64{2, 5}},
	} {
		got, err := a.Select(row.at)
		require.NoError(t, err)
		assert.Equal(t, row.want, got)
	}
	_, err := a.Select(cache.At{"heads": 1})
	assert.ErrorIs(t, err, check.UnknownNameError{Kind: "axis of x", Name: "heads", Nearest: "head"})
	_, err = a.Select(cache.At{"entry": 3})
	assert.ErrorIs(t, err, check.RangeError{Name: "x: entry", N: 3, Got: 3})
	a.Axes[0] = "row"
	all, err := a.Token(1)
	require.NoError(t, err)
	assert.Equal(t, a.Values, all)
}

// TestCacheInterventions: each changes what it says and nothing before it, reaches the logits,
// and is gone in the next run.
func TestCacheInterventions(t *testing.T) {
	const name = "blocks.0.attention.heads"
	for _, c := range []models.Config{cachedMatrix, cachedVector} {
		r := cacheRunner(t, c, name, "embedding.out", "blocks.0.attention.stream")
		plain := runCache(t, r)
		own := cachedActivation(t, plain, name)
		head := cache.At{"head": 1}
		width := own.Shape[2]
		direction := make([]float64, width)
		direction[0] = 1
		for what, v := range map[string]cache.Intervention{
			"ablate": cache.Ablate(name, head), "steer": cache.Steer(name, head, direction, 3), "set": cache.Set(name, cache.At{"head": 1, "token": 2}, direction),
		} {
			changed := runCache(t, r, v)
			assert.Equal(t, cachedActivation(t, plain, "embedding.out"), cachedActivation(t, changed, "embedding.out"), "%s: before it", what)
			assert.NotEqual(t, plain.Logits, changed.Logits, "%s: after it", what)
			other, err := cachedActivation(t, changed, name).Select(cache.At{"head": 0})
			require.NoError(t, err)
			want, err := own.Select(cache.At{"head": 0})
			require.NoError(t, err)
			assert.Equal(t, want, other, "%s: another head", what)
			checkIntervention(t, what, own, cachedActivation(t, changed, name), width)
		}
		assert.Equal(t, plain.Logits, runCache(t, r, cache.Patch(name, nil, plain)).Logits, "patched with itself")
		assert.Equal(t, plain.Logits, runCache(t, r).Logits, "the next run")
	}
}

func checkIntervention(t *testing.T, what string, before, after cache.Activation, width int) {
	for token := range before.Shape[0] {
		old, err := before.Select(cache.At{"head": 1, "token": token})
		require.NoError(t, err)
		got, err := after.Select(cache.At{"head": 1, "token": token})
		require.NoError(t, err)
		switch {
		case what == "ablate":
			old = make([]float64, width)
		case what == "steer":
			old[0] += 3
		case token == 2:
			old = make([]float64, width)
			old[0] = 1
		}
		assert.InDeltaSlice(t, old, got, 1e-12, "%s, token %d", what, token)
	}
}

// TestCachePatch: patched entries have their values from the other run.
func TestCachePatch(t *testing.T) {
	const name = "blocks.1.feedforward.stream"
	r := cacheRunner(t, cachedVector, name)
	other, err := r.Run([]int32{1, 7, 3, 0, 12, 6})
	require.NoError(t, err)
	patched := runCache(t, r, cache.Patch(name, cache.At{"token": 5}, other))
	want, err := other.TokenLogits(5)
	require.NoError(t, err)
	got, err := patched.TokenLogits(5)
	require.NoError(t, err)
	assert.Equal(t, want, got, "the last stream makes the logits")
	before, err := runCache(t, r).TokenLogits(4)
	require.NoError(t, err)
	same, err := patched.TokenLogits(4)
	require.NoError(t, err)
	assert.Equal(t, before, same)
}

// TestCacheOfDocuments: a model that masks documents sees where they begin, as in training: after
// BOS nothing attends to what is before it, in each row by itself.
func TestCacheOfDocuments(t *testing.T) {
	for name, config := range map[string]models.Config{"matrix": cachedMatrix, "vector": cachedVector} {
		config.MaskDocuments, config.BOS = true, 3
		c := modeltest.Resolve(t, config)
		r, err := cache.New(modeltest.PerturbedStore(t, c, tensor.Float32), c, cache.Options{Names: []string{"blocks.1.attention.pattern"}, Batch: 2})
		require.NoError(t, err, name)
		defer r.Close()
		run, err := r.Run([]int32{1, 7, 3, 0, 12, 5, 3, 7, 3, 0, 3, 5})
		require.NoError(t, err)
		a := cachedActivation(t, run, "blocks.1.attention.pattern")
		for token, first := range []int{0, 0, 2, 2, 2, 2, 0, 0, 2, 2, 4, 4} {
			for head := range a.Shape[1] {
				p, err := a.Select(cache.At{"token": token, "head": head})
				require.NoError(t, err)
				for key, v := range p {
					assert.Equal(t, key >= first && key <= token%6, v > 0, "%s: token %d, key %d", name, token, key)
				}
			}
		}
	}
}

// TestCacheOfOneToken: a prompt of one token attends to itself alone.
func TestCacheOfOneToken(t *testing.T) {
	for name, config := range map[string]models.Config{"matrix": cachedMatrix, "vector": cachedVector} {
		c := modeltest.Resolve(t, config)
		r, err := cache.New(modeltest.PerturbedStore(t, c, tensor.Float64), c, cache.Options{Names: []string{"blocks.*.attention.pattern"}, Seq: 1})
		require.NoError(t, err, name)
		defer r.Close()
		run, err := r.Run([]int32{4})
		require.NoError(t, err)
		for _, pattern := range run.Names() {
			for _, v := range cachedActivation(t, run, pattern).Values {
				assert.InDelta(t, 1, v, 1e-12, "%s: %s", name, pattern)
			}
		}
	}
}

// TestCacheNewErrors: each error of New is one line that names what is wrong.
func TestCacheNewErrors(t *testing.T) {
	c := modeltest.Resolve(t, cachedVector)
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	for _, row := range []struct {
		options cache.Options
		want    error
	}{
		{cache.Options{Names: []string{"blocks.0.atention.heads"}}, check.UnknownNameError{Kind: "activation", Nearest: "blocks.0.attention.heads"}},
		{cache.Options{Names: []string{"["}}, check.ValueError{Name: "activations", Got: `"["`}},
		{cache.Options{Seq: 7}, check.ValueError{Name: "run", Got: "7"}},
		{cache.Options{Seq: -1}, check.ValueError{Name: "run", Got: "1 of -1"}},
	} {
		_, err := cache.New(store, c, row.options)
		assert.ErrorIs(t, err, row.want)
	}
	_, err := cache.New(store, c, cache.Options{Names: []string{"nothing.like.this.at.all"}})
	var unknown check.UnknownNameError
	require.ErrorAs(t, err, &unknown)
	assert.Empty(t, unknown.Nearest)
	assert.Contains(t, unknown.Known, "blocks.*.attention.heads")
	assert.NotContains(t, err.Error(), "\n")
	_, err = cache.New(nil, c, cache.Options{})
	assert.ErrorIs(t, err, models.ErrNoParameters)
	_, err = cache.New(store, modeltest.Resolve(t, cachedMatrix), cache.Options{})
	assert.Error(t, err)
	_, err = cache.New(store, models.Spec{}, cache.Options{})
	assert.ErrorContains(t, err, "want a Spec that Config.Resolve made, got the zero value")
}

// TestCacheRunErrors: each error of Run is one line that names what is wrong.
func TestCacheRunErrors(t *testing.T) {
	r := cacheRunner(t, cachedVector, "embedding.out")
	for _, row := range []struct {
		ids     []int32
		replace []cache.Intervention
		want    error
	}{
		{cachedIDs[:2], nil, check.ValueError{Name: "ids", Got: "2"}},
		{[]int32{0, 1, 2, 3, 4, 13}, nil, check.RangeError{Name: "id of token 5", N: 13, Got: 13}},
		{cachedIDs, []cache.Intervention{{Name: "embedding.out"}}, check.ValueError{Name: "replace embedding.out"}},
		{cachedIDs, []cache.Intervention{cache.Ablate("features", nil)}, cache.NotKeptError{Name: "features"}},
	} {
		_, err := r.Run(row.ids, row.replace...)
		assert.ErrorIs(t, err, row.want)
	}
	for want, v := range map[error]cache.Intervention{
		check.RangeError{Name: "embedding.out: token", N: 6, Got: 6}: cache.Ablate("embedding.out", cache.At{"token": 6}),
		check.ValueError{Name: "patch", Got: "none"}:                 cache.Patch("embedding.out", nil, nil),
		check.ValueError{Name: "embedding.out", Got: "1"}:            cache.Set("embedding.out", nil, []float64{1}),
		check.ValueError{Name: "direction", Got: "5"}:                cache.Steer("embedding.out", nil, make([]float64, 5), 1),
	} {
		_, err := r.Run(cachedIDs, v)
		assert.ErrorIs(t, err, want)
		assert.ErrorContains(t, err, "embedding.out")
	}
	c := runCache(t, r)
	_, err := c.Get("features")
	var missing cache.NotKeptError
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, []string{"embedding.out"}, missing.Kept)
	_, err = runCache(t, cacheRunner(t, cachedVector)).Get("features")
	require.ErrorAs(t, err, &missing)
	assert.Empty(t, missing.Kept)
	_, err = c.TokenLogits(6)
	assert.ErrorIs(t, err, check.RangeError{Name: "token", N: 6, Got: 6})
}

// TestCacheScale: entries are multiplied, and by 1 they stay as they are, bit for bit; Apply does
// to an activation what a run does.
func TestCacheScale(t *testing.T) {
	r := cacheRunner(t, cachedVector, "blocks.0.attention.heads")
	at := cache.At{"head": 1}
	before := runCache(t, r)
	assert.Equal(t, before.Logits, runCache(t, r, cache.Scale("blocks.0.attention.heads", at, 1)).Logits)
	halved := cache.Scale("blocks.0.attention.heads", at, 0.5)
	after := runCache(t, r, halved)
	assert.NotEqual(t, before.Logits, after.Logits)
	want := cachedActivation(t, before, "blocks.0.attention.heads")
	require.NoError(t, halved.Apply(want))
	assert.Equal(t, want, cachedActivation(t, after, "blocks.0.attention.heads"))
}

// TestRowsOfTheirOwnInterventions: a row of RunEach has the logits of a run with its interventions
// alone, and too many lists, other ids and activations that rows share are refused.
func TestRowsOfTheirOwnInterventions(t *testing.T) {
	const heads, pattern, write = "blocks.0.attention.heads", "blocks.1.attention.pattern", "blocks.0.feedforward.write"
	lists := [][]cache.Intervention{
		nil,
		{cache.Ablate(write, cache.At{graph.TokenAxis: 5})},
		{cache.Ablate(write, nil), cache.Steer(write, cache.At{graph.TokenAxis: 2}, []float64{1}, 0.5)},
		{cache.Ablate(pattern, cache.At{graph.TokenAxis: 4})},
	}
	for name, config := range map[string]models.Config{"vector": cachedVector, "matrix": cachedMatrix, "hyper": cachedHyper} {
		t.Run(name, func(t *testing.T) {
			c := modeltest.Resolve(t, config)
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			names := []string{heads, pattern, write}
			r, err := cache.New(store, c, cache.Options{Names: names, Batch: 5})
			require.NoError(t, err)
			defer r.Close()
			for _, name := range names {
				assert.True(t, r.PerRow(name), name)
			}
			got, err := r.RunEach(cachedIDs, lists)
			require.NoError(t, err)
			require.Len(t, got, len(lists))
			alone := cacheRunner(t, config, names...)
			for i, list := range lists {
				want := runCache(t, alone, list...)
				assert.InDeltaSlice(t, want.Logits, got[i].Logits, 1e-12)
				assert.Equal(t, cachedIDs, got[i].IDs)
				if i > 0 {
					assert.NotEqual(t, got[0].Logits, got[i].Logits)
				}
			}
			_, err = r.RunEach(cachedIDs[1:], lists)
			assert.Error(t, err)
			_, err = r.RunEach(cachedIDs, make([][]cache.Intervention, 6))
			assert.Error(t, err)
			_, err = r.RunEach(cachedIDs, [][]cache.Intervention{{cache.Ablate("blocks.1.attention.heads", nil)}})
			assert.ErrorIs(t, err, cache.NotKeptError{Name: "blocks.1.attention.heads"})
		})
	}
}

// TestActivationInJSON: values that are not finite are null.
func TestActivationInJSON(t *testing.T) {
	text, err := json.Marshal(cache.Activation{Name: "a", Axes: []string{"token"}, Shape: []int{3}, Values: []float64{1, math.Inf(-1), 0.5}})
	require.NoError(t, err)
	require.JSONEq(t, `{"name": "a", "axes": ["token"], "shape": [3], "values": [1, null, 0.5]}`, string(text))
}
