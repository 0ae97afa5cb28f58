package modeltest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// checkCost checks that the closed forms of the cost agree with the graph.
func checkCost(t *testing.T, spec models.Spec) {
	store := NewStore(t, spec, tensor.Float32, 0)
	cost, tokens := spec.Cost(), rows*spec.Seq
	assert.Equal(t, store.Size(), cost.Parameters, "parameters: want what the Store has, got what Cost says\n%s", shapes(store))
	tables := 0
	for _, p := range store.Params() {
		if p.Name == "positions" || p.Name == "unembedding" || looksUp(p) {
			tables += p.Size()
		}
	}
	assert.Equal(t, tables, cost.Embedding, "entries of tables")

	p := Compile(t, spec, store, Setup{Gradients: true, LossOnly: true, Training: true})
	each := 0.0 // the cost of attention windows per token need not be a whole number
	for _, part := range spec.Parts() {
		each += part.Cost.FLOPs
	}
	assert.Equal(t, p.ForwardFLOPs(), int(math.Round(each*float64(tokens))), "FLOPs of %d tokens: want what the graph has, by op below, got what Cost says\n%s",
		tokens, byOp(p, func(c graph.OpCost) int { return c.FLOPs }))
	assert.Equal(t, int(each), cost.ForwardFLOPs, "FLOPs of a token")
	assert.Equal(t, 3*cost.ForwardFLOPs, cost.TrainFLOPs())
	assert.Equal(t, p.Memory().Activations, cost.ActivationBytes*tokens, "bytes that the backward pass reads of %d tokens: want what the graph has, by "+
		"op below, got what Cost says\n%s",
		tokens, byOp(p, func(c graph.OpCost) int { return c.Kept }))
	cheap := Compile(t, spec, store, Setup{Gradients: true, LossOnly: true, Training: true, Recompute: graph.RecomputeCheap})
	assert.LessOrEqual(t, cheap.Memory().Activations, p.Memory().Activations, "activation bytes when norms and activations are computed again")
	recomputed := Compile(t, spec, store, Setup{Gradients: true, LossOnly: true, Training: true, Recompute: graph.RecomputeBlock})
	assert.Less(t, recomputed.Memory().Activations, p.Memory().Activations, "activation bytes with recomputation")
	assert.Equal(t, p.ForwardFLOPs(), recomputed.ForwardFLOPs(), "recomputation is not part of the forward pass")
	assert.Equal(t, spec.StreamSize(), cost.StreamSize)

	hooked := Compile(t, spec, store, Setup{Hooks: graph.Hooks{"embedding.out": nil}})
	hooked.On(t, RandomBatch(spec, rows, spec.Seq, 15))
	stream, err := hooked.Hooked("embedding.out")
	require.NoError(t, err)
	assert.Equal(t, stream.Shape().TotalSize(), cost.StreamSize*tokens, "entries of the stream of %d tokens", tokens)
}

// looksUp tells whether a parameter is a table with a row for each token id.
func looksUp(p *graph.Param) bool {
	return p.Name == "embedding" || strings.HasSuffix(p.Name, ".value_embedding")
}

// byOp lists the ops that cost something, and how much.
func byOp(p *Program, amount func(graph.OpCost) int) string {
	var lines strings.Builder
	for _, c := range p.Costs() {
		if n := amount(c); n > 0 {
			fmt.Fprintf(&lines, "%12d  %s %v\n", n, c.OpType, c.Shape)
		}
	}
	return lines.String()
}

// shapes lists the parameters of a store.
func shapes(store *graph.Store) string {
	var lines strings.Builder
	for _, p := range store.Params() {
		fmt.Fprintf(&lines, "%12d  %s %v\n", p.Size(), p.Name, p.Shape)
	}
	return lines.String()
}
