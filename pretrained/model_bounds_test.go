package pretrained_test

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
)

// small returns a model of about 20,000 parameters.
func small(positions string) models.Config {
	c := models.Transformer(1, 24, 96, 3)
	c.Vocab, c.Seq, c.Attention.Positions = 257, 16, positions
	return c
}

// resolved resolves a config.
func resolved(t *testing.T, c models.Config) models.Spec {
	t.Helper()
	spec, err := c.Resolve()
	require.NoError(t, err)
	return spec
}

// hidden returns a feed-forward of that width.
func hidden(width int) layers.FeedForwardDesign { return layers.GELUConfig{Hidden: width} }

// writeModel writes the initial parameters of model real into a file whose digest is valid but
// whose config describes the model claimed.
func writeModel(t *testing.T, real, claimed models.Config) string {
	t.Helper()
	var tensors []checkpoint.Tensor
	for _, p := range modeltest.NewStore(t, resolved(t, real), tensor.Float32, 1).Params() {
		tensors = append(tensors, checkpoint.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Value.Float32s()})
	}
	text, err := json.Marshal(pretrained.Description{Spec: resolved(t, claimed)})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, checkpoint.WriteModel(path, tensors, map[string]string{checkpoint.MetadataConfig: string(text)}))
	return path
}

// TestModelFileAllocatesWhatItHolds: a file whose config claims more than its tensors hold is
// refused without taking more memory than reading the file. Claims grow from row to row, so that a
// program that believes the config fails before it takes all of the machine's memory.
func TestModelFileAllocatesWhatItHolds(t *testing.T) {
	for _, row := range []struct {
		name      string
		positions string
		change    func(*models.Config)
		want      check
	}{
		{"ff 1e6", models.PositionsALiBi, func(c *models.Config) { c.FeedForward = hidden(1e6) }, is(pretrained.ErrOtherModel)},
		{"seq 1e6", models.PositionsLearned, func(c *models.Config) { c.Seq = 1e6 }, is(pretrained.ErrOtherModel)},
		{"layers 1e3", models.PositionsALiBi, func(c *models.Config) { c.Layers = 1e3 }, is(pretrained.ErrOtherModel)},
		{"ff 1e9", models.PositionsALiBi, func(c *models.Config) { c.FeedForward = hidden(1e9) }, is(pretrained.ErrOtherModel)},
		{"seq 1e9", models.PositionsLearned, func(c *models.Config) { c.Seq = 1e9 }, is(pretrained.ErrOtherModel)},
		{"layers 1e5", models.PositionsALiBi, func(c *models.Config) { c.Layers = 1e5 }, is(pretrained.ErrOtherModel)},
		{"everything", models.PositionsALiBi, func(c *models.Config) {
			*c = models.Transformer(1<<31-1, 1<<30, 1<<31-1, 1<<30)
			c.Seq, c.Attention.Positions = 1<<31-1, models.PositionsALiBi
		}, is(pretrained.ErrOtherModel)},
		{"as many in other shapes", models.PositionsLearned, func(c *models.Config) { c.Vocab, c.Seq = c.Vocab-1, c.Seq+2 }, tensorNamed("embedding")},
	} {
		real := small(row.positions)
		claimed := real
		row.change(&claimed)
		path := writeModel(t, real, claimed)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := pretrained.Open(path)
		runtime.ReadMemStats(&after)
		row.want(t, err)
		require.ErrorContains(t, err, path, row.name)
		require.NotContains(t, err.Error(), "\n", row.name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "%s: bytes allocated for a file of 80 KB", row.name)
	}
}

// TestModelFileServes: the model from Open holds the file's values, and no graph adds a parameter
// to it: a missing one is an error that names it.
func TestModelFileServes(t *testing.T) {
	c := small(models.PositionsALiBi)
	path := writeModel(t, c, c)
	p, err := pretrained.Open(path)
	require.NoError(t, err)
	require.Equal(t, modeltest.Values(modeltest.NewStore(t, resolved(t, c), tensor.Float32, 1)), modeltest.Values(p.Store))
	count := len(p.Store.Params())
	c.Layers = 2
	_, err = eval.NewEvaluator(graph.Options{Store: p.Store}, resolved(t, c), 1, 4, false)
	require.ErrorContains(t, err, `parameter "blocks.1.attention.norm": the store does not have it`)
	require.Len(t, p.Store.Params(), count)
	require.False(t, strings.Contains(err.Error(), "\n"))
}
