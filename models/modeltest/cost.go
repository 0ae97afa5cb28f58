package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// checkCost: the closed forms are what the graph has.
func checkCost(t *testing.T, c models.Spec) {
	store := NewStore(t, c, tensor.Float32, 0)
	cost, tokens := c.Cost(), rows*c.Seq
	assert.Equal(t, store.Size(), cost.Parameters, "parameters")
	tables := 0
	for _, name := range []string{"embedding", "positions", "unembedding"} {
		if p := store.Param(name); p != nil {
			tables += p.Size()
		}
	}
	assert.Equal(t, tables, cost.Embedding, "entries of tables")

	p := Compile(t, c, store, Setup{Gradients: true, LossOnly: true, Training: true})
	assert.Equal(t, p.ForwardFLOPs(), cost.ForwardFLOPs*tokens, "FLOPs of %d tokens", tokens)
	assert.Equal(t, 3*cost.ForwardFLOPs, cost.TrainFLOPs())
	assert.Equal(t, p.Memory().Activations, cost.ActivationBytes*tokens, "activation bytes of %d tokens", tokens)
	recomputed := Compile(t, c, store, Setup{Gradients: true, LossOnly: true, Training: true, Recompute: graph.RecomputeBlock})
	assert.Less(t, recomputed.Memory().Activations, p.Memory().Activations, "activation bytes with recomputation")
	assert.Equal(t, p.ForwardFLOPs(), recomputed.ForwardFLOPs(), "recomputation is not part of the forward pass")
	assert.Equal(t, c.StreamSize(), cost.StreamSize)

	hooked := Compile(t, c, store, Setup{Hooks: graph.Hooks{"embedding.out": nil}})
	hooked.On(t, RandomBatch(c, rows, c.Seq, 15), graph.RunOptions{})
	stream, err := hooked.Hooked("embedding.out")
	require.NoError(t, err)
	assert.Equal(t, stream.Shape().TotalSize(), cost.StreamSize*tokens, "entries of the stream of %d tokens", tokens)
}
