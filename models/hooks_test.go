package models_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// hookNames lists every activation that a model of both streams names.
func hookNames(c models.Config) []string {
	names := []string{"embedding.out", "norm.out", "features"}
	for l := range c.Layers {
		for _, n := range []string{"attention.norm.out", "attention.qkv", "attention.heads", "attention.write", "attention.stream",
			"feedforward.norm.out", "feedforward.in", "feedforward.hidden", "feedforward.activations", "feedforward.out", "feedforward.write", "feedforward.stream"} {
			names = append(names, fmt.Sprintf("blocks.%d.%s", l, n))
		}
	}
	return names
}

// TestHooks: every name can be watched; watching changes nothing, replacing a value by
// itself changes nothing, replacing it by another reaches the logits.
func TestHooks(t *testing.T) {
	for name, c := range map[string]models.Config{
		"matrix":      tinyMatrix(func(*models.Config) {}),
		"matrix/bias": tinyMatrix(func(c *models.Config) { c.Bias = true }),
		"vector":      tinyVector(func(*models.Config) {}),
	} {
		t.Run(name, func(t *testing.T) {
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			b := modeltest.RandomBatch(c, 2, c.Seq, 1)
			want := modeltest.Compile(t, c, store, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
			all := graph.Hooks{}
			for _, hook := range hookNames(c) {
				all[hook] = nil
				checkHook(t, c, store, b, hook, want)
			}
			p := modeltest.Compile(t, c, store, modeltest.Setup{Hooks: all, Gradients: true})
			assert.LessOrEqual(t, modeltest.Distance(p.On(t, b, graph.RunOptions{}).Logits, want), 1e-12, "all at once")
			checkStreamHooks(t, c, p.Program)
		})
	}
}

func checkHook(t *testing.T, c models.Config, store *graph.Store, b modeltest.Batch, name string, want []float64) {
	seen := 0
	change := func(got string, x *tensor.Dense) error {
		assert.Equal(t, name, got)
		if seen++; seen > 1 { // from the second run on
			x.Float64s()[x.DataSize()-1]++ // of the last token, and not of a query: the first's has no choice
		}
		return nil
	}
	p := modeltest.Compile(t, c, store, modeltest.Setup{Hooks: graph.Hooks{name: change}})
	watched := p.On(t, b, graph.RunOptions{}).Logits
	require.Equal(t, 1, seen, "%s: calls", name)
	assert.LessOrEqual(t, modeltest.Distance(watched, want), 1e-12, "%s: watched", name)
	changed := p.On(t, b, graph.RunOptions{}).Logits
	assert.Greater(t, modeltest.Distance(changed, want), 1e-9, "%s: changed", name)
	_, err := p.Hooked(name + "x")
	assert.ErrorContains(t, err, `hook "`+name+`x": want a name that Options.Hooks lists and the model has`)
}

// checkStreamHooks: each site adds what it writes to the stream.
func checkStreamHooks(t *testing.T, c models.Config, p *graph.Program) {
	value := func(name string) []float64 {
		x, err := p.Hooked(name)
		require.NoError(t, err, name)
		return graph.Float64s(x)
	}
	stream := value("embedding.out")
	for l := range c.Layers {
		for _, kind := range []string{"attention", "feedforward"} {
			site := fmt.Sprintf("blocks.%d.%s", l, kind)
			for i, v := range value(site + ".write") {
				stream[i] += v
			}
			require.InDeltaSlice(t, stream, value(site+".stream"), 1e-11, site)
		}
	}
}
