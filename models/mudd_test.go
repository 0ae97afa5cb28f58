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

// TestMUDDStartsAsATransformer: with its first connections, and a transformer's weights elsewhere,
// MUDD has the transformer's logits and loss to the last bit, in all forms.
func TestMUDDStartsAsATransformer(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		plain := modeltest.Resolve(t, tinyVector(func(c *models.Config) { c.Layers, c.Bias = 4, true }))
		store := modeltest.PerturbedStore(t, plain, dt)
		b := modeltest.RandomBatch(plain, 2, plain.Seq, 1)
		want := modeltest.Compile(t, plain, store, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
		for _, d := range []stream.MUDDConfig{{}, {ExpandLast: true, Round64: true}, {PrePost: true}} {
			mudd, err := plain.With(func(c *models.Config) { *c = c.OnStream(d) })
			require.NoError(t, err)
			own := modeltest.NewStore(t, mudd, dt, 0)
			for _, p := range store.Params() {
				if own.Param(p.Name).Size() == p.Size() {
					require.NoError(t, graph.SetFloat64s(own.Param(p.Name).Value, graph.Float64s(p.Value)))
				}
			}
			require.NoError(t, mudd.Design().(stream.PlainWeights).SetPlain(own, store))
			got := modeltest.Compile(t, mudd, own, modeltest.Setup{Gradients: true}).On(t, b, graph.RunOptions{})
			assert.Equal(t, want, got, "%v %+v", dt, d)
		}
	}
}
