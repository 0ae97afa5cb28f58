package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestDenseFormerStartsAsATransformer: with its first weights (0, ..., 0, 1), and a transformer's
// weights elsewhere, DenseFormer has the transformer's logits, loss and gradients to the last bit,
// whatever the dilation and the period.
func TestDenseFormerStartsAsATransformer(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		plain := modeltest.Resolve(t, tinyVector(func(c *models.Config) { c.Layers = 5 }))
		store := modeltest.PerturbedStore(t, plain, dt)
		b := modeltest.RandomBatch(plain, 2, plain.Seq, 1)
		want := modeltest.Compile(t, plain, store, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
		for _, d := range []stream.DenseFormerConfig{{}, {Dilation: 2}, {Period: 2}, {Dilation: 4, Period: 5}} {
			dense, err := plain.With(func(c *models.Config) { *c = c.OnStream(d) })
			require.NoError(t, err)
			own := modeltest.NewStore(t, dense, dt, 0)
			for _, p := range store.Params() {
				require.NoError(t, graph.SetFloat64s(own.Param(p.Name).Value, graph.Float64s(p.Value)))
			}
			got := modeltest.Compile(t, dense, own, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
			assert.Equal(t, want, got, "%v %+v", dt, d)
			gradients := modeltest.Gradients(own)
			for name, g := range modeltest.Gradients(store) {
				assert.Equal(t, g, gradients[name], "%v %+v: gradient of %s", dt, d, name)
			}
		}
	}
}
