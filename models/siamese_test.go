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
	"github.com/residua-go/residua/stream"
)

// TestSiameseWithoutTheFirstStream: with gains of 0 in the norms of x, SiameseNorm is a transformer
// whose sites read a norm of a norm, and has that transformer's logits up to the eps of the norms.
// With its first gains of 1 it is another model.
func TestSiameseWithoutTheFirstStream(t *testing.T) {
	plain := modeltest.Resolve(t, tinyVector(func(c *models.Config) { c.NormEps = 1e-12 }))
	store := modeltest.PerturbedStore(t, plain, tensor.Float64)
	b := modeltest.RandomBatch(plain, 2, plain.Seq, 1)
	want := modeltest.Compile(t, plain, store, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
	c, err := plain.With(func(c *models.Config) { *c = c.OnStream(stream.SiameseConfig{}) })
	require.NoError(t, err)
	distance := func(gain float64) float64 {
		own := modeltest.NewStore(t, c, tensor.Float64, 0)
		for _, p := range store.Params() {
			require.NoError(t, graph.SetFloat64s(own.Param(p.Name).Value, graph.Float64s(p.Value)))
		}
		for _, p := range own.Params() {
			if strings.HasSuffix(p.Name, "siamese.post") {
				require.NoError(t, graph.SetFloat64s(p.Value, each(p.Size(), func(int) float64 { return gain })))
			}
		}
		return modeltest.Distance(modeltest.Compile(t, c, own, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits, want)
	}
	assert.Less(t, distance(0), 1e-9)
	assert.Greater(t, distance(1), 1e-2)
}
