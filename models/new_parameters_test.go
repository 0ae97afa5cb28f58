package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/stream"
)

// TestParametersOfOptions: the parameters of nanochat's options and of convolutions start as they
// should, do not decay, are no matrices of Muon's, whatever their shape, and keep their rate under
// muP.
func TestParametersOfOptions(t *testing.T) {
	convolved := func(c *models.Config) {
		c.Writes = stream.ConvWrites{At: []string{"attention", "feedforward", "keys", "values"}}
	}
	for name, of := range map[string]struct {
		config models.Config
		count  int
	}{
		"nanochat": {tinyVector(func(c *models.Config) {
			c.Attention.ValueEmbeddings = 4
			c.Stream = stream.VectorConfig{Vectors: vectorOf(15).Vectors, EmbeddingNorm: true, Smear: 5, Backout: true, X0: "nanochat"}
		}), 2*1 + 2 + 1 + 2},
		"convolutions":           {tinyVector(convolved), 2 * 4},
		"convolutions of an RMT": {tinyMatrix(convolved), 2 * 4},
	} {
		c := of.config
		c.MuP = &models.MuP{}
		spec, err := c.Resolve()
		if err != nil { // muP is not known for the stream
			require.ErrorContains(t, err, "mup")
			c.MuP = nil
			spec = modeltest.Resolve(t, c)
		}
		store := modeltest.NewStore(t, spec, tensor.Float32, 1)
		o, err := optim.New(store, 1, optim.Rate(0.5, optim.Constant{}), optim.MuP())
		require.NoError(t, err)
		found := 0
		for _, p := range store.Params() {
			if !newParameter(p.Name) {
				continue
			}
			found++
			assert.False(t, p.Decay, "%s: %s decays", name, p.Name)
			assert.NotEqual(t, graph.RoleHidden, p.Role, "%s: %s", name, p.Name)
			assert.Contains(t, []float64{0, 1}, p.WidthRatio, "%s: %s", name, p.Name)
			checkStart(t, p)
		}
		assert.Equal(t, of.count, found, name)
		o.Close()
	}
}

func newParameter(name string) bool {
	for _, part := range []string{"smear.", "backout", ".x0", ".value_embedding", ".value_gate", "conv"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// checkStart checks the range of nanochat's initial values and that filters are 0.
func checkStart(t *testing.T, p *graph.Param) {
	low, high := -1.0, 1.0
	switch {
	case strings.HasSuffix(p.Name, "conv"), p.Name == "smear.lambda":
		low, high = 0, 0
	case strings.HasSuffix(p.Name, "gate"):
		low, high = 0, 0.02
	case p.Name == "backout":
		low, high = 0.2, 0.2
	case strings.HasSuffix(p.Name, ".value_embedding"):
		low, high = -0.4473, 0.4473 // sqrt(3/15)
	default:
		return
	}
	for _, v := range graph.Float64s(p.Value) {
		assert.True(t, v >= low-1e-8 && v <= high+1e-8, "%s: want %g to %g, got %g", p.Name, low, high, v)
	}
}
