package models_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// sliding gives a config an attention window.
func sliding(d layers.SlidingAttention) func(c *models.Config) {
	return func(c *models.Config) { c.Attention.Kind = d }
}

// TestConformanceSliding runs the suite on models with an attention window. Because of the sinks
// the first token reaches all others.
func TestConformanceSliding(t *testing.T) {
	t.Parallel()
	checkConformance(t, 1, []conformanceCase{
		{"vector", tinyVector(all(sliding(layers.SlidingAttention{Window: 3, Sinks: 1, Layers: []int{1}}), func(c *models.Config) {
			c.Attention.Positions, c.Attention.HeadDim, c.Attention.QKNorm = models.PositionsRoPE, 4, true
		}))},
		{"matrix", tinyMatrix(all(sliding(layers.SlidingAttention{Window: 4, Sinks: 1}), withAttentionKeys))},
		{"looped", tinyVector(all(looped(3, 1, 2, 3), sliding(layers.SlidingAttention{Window: 4, Sinks: 1, Layers: []int{1}})))},
	})
}

// withAttentionKeys gives a config values shared between layers, and a bias by distance.
func withAttentionKeys(c *models.Config) {
	c.Attention.ValueResidual, c.Attention.Positions = models.ValuesLearned, models.PositionsALiBi
}

// TestASlidingPattern: the hooked attention weights are 0 outside the window and the sinks, and sum
// to 1; layers without a window see all tokens.
func TestASlidingPattern(t *testing.T) {
	c := modeltest.Resolve(t, tinyVector(sliding(layers.SlidingAttention{Window: 3, Sinks: 2, Layers: []int{1}})))
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	const first, second = "blocks.0.attention.pattern", "blocks.1.attention.pattern"
	b := modeltest.RandomBatch(c, 2, c.Seq, 3)
	want := modeltest.Compile(t, c, store, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
	p := modeltest.Compile(t, c, store, modeltest.Setup{Hooks: graph.Hooks{first: nil, second: nil}})
	assert.LessOrEqual(t, modeltest.Distance(p.On(t, b, graph.RunOptions{}).Logits, want), 1e-12)
	for name, sees := range map[string]func(i, j int) bool{
		first: func(i, j int) bool { return j <= i }, second: func(i, j int) bool { return j <= i && (j > i-3 || j < 2) },
	} {
		x, err := p.Hooked(name)
		require.NoError(t, err)
		pattern := graph.Float64s(x)
		for query := range len(pattern) / c.Seq {
			sum, i := 0.0, query/c.HeadCount()%c.Seq
			for j, v := range pattern[query*c.Seq:][:c.Seq] {
				assert.Equal(t, sees(i, j), v > 0, "%s: query %d, key %d", name, i, j)
				sum += v
			}
			assert.InDelta(t, 1, sum, 1e-12)
		}
	}
}

// TestSlidingCosts checks the closed form of the cost for any number of layers.
func TestSlidingCosts(t *testing.T) {
	config := tinyVector(all(sliding(layers.SlidingAttention{Window: 128, Sinks: 4}), func(c *models.Config) { c.Seq, c.Layers = 1024, 1<<31-1 }))
	full := config
	full.Attention.Kind = nil
	some := config
	some.Attention.Kind = layers.SlidingAttention{Window: 128, Sinks: 4, Layers: []int{0, 7}}
	attention := func(c models.Config) layers.Cost {
		return modeltest.Resolve(t, c).Parts()[1].Cost
	}
	assert.InDelta(t, 126522.0/524800, attention(config).FLOPs/attention(full).FLOPs, 1e-5)
	each := (attention(full).FLOPs - attention(config).FLOPs) / float64(config.Layers)
	assert.InEpsilon(t, 2*each, attention(full).FLOPs-attention(some).FLOPs, 1e-6)
	assert.Equal(t, attention(full).Parameters, attention(some).Parameters)
	small := tinyVector(sliding(layers.SlidingAttention{Window: 2, Layers: []int{1}}))
	assert.Equal(t, 2*2*15, modeltest.Resolve(t, small).CacheEntries())
}

// TestSlidingRefuses lists windows that no model can have.
func TestSlidingRefuses(t *testing.T) {
	for want, d := range map[string]layers.SlidingAttention{
		"model.attention.window: want >= 1, got 0":                            {},
		"model.attention.sinks: want 0 to 2147483647, got -1":                 {Window: 2, Sinks: -1},
		"model.attention.layers: want layers from 0 to 1, got 2":              {Window: 2, Layers: []int{0, 2}},
		"model.attention.layers: want each layer once, rising, got 0 after 1": {Window: 2, Layers: []int{1, 0}},
	} {
		_, err := tinyVector(sliding(d)).Resolve()
		assert.EqualError(t, err, want)
	}
	c := tinyVector(plainly)
	c.Attention.Kind = &pointed{}
	_, err := c.Resolve()
	assert.EqualError(t, err, "model.attention: want a struct, got *models_test.pointed")
}

// pointed is an attention that is a pointer to a struct instead of a struct.
type pointed struct{ layers.SoftmaxAttention }

// TestJSONHoldsAnAttention: the kind and its settings are written next to the keys that all kinds
// have; softmax is not written.
func TestJSONHoldsAnAttention(t *testing.T) {
	c := tinyVector(sliding(layers.SlidingAttention{Window: 3, Sinks: 1, Layers: []int{1}}))
	text, err := json.Marshal(c.Attention)
	require.NoError(t, err)
	assert.JSONEq(t, `{"heads": 3, "kind": "sliding", "window": 3, "sinks": 1, "layers": [1]}`, string(text))
	text, err = json.Marshal(c)
	require.NoError(t, err)
	read, err := models.Standard().Unmarshal(text)
	require.NoError(t, err)
	assert.Equal(t, c, read)

	plain, err := json.Marshal(models.Attention{Kind: layers.SoftmaxAttention{}, Heads: 3})
	require.NoError(t, err)
	assert.Equal(t, `{"heads":3}`, string(plain))
	assert.ErrorContains(t, modeltest.Resolve(t, c).SameModel(modeltest.Resolve(t, tinyVector(plainly))), "model.attention.kind: want sliding, got softmax")
	for text, want := range map[string]string{
		`{"attention": {"kind": "slide"}}`:                    "model.attention.kind: want one of softmax, sliding, got \"slide\"",
		`{"attention": {"kind": "sliding", "window": "two"}}`: "model.attention.window: want an integer, got \"two\"",
		`{"attention": {"window": 2}}`:                        "model.attention.window: unknown key of kind softmax: it belongs to sliding",
		`{"attention": {"kind": 3}}`:                          "model.attention.kind: want a string, got 3",
	} {
		_, err := models.Standard().Unmarshal([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}
