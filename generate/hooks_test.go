package generate_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestHooks: a hook gets each token once, in order, and the model continues with the values that
// the hook leaves.
func TestHooks(t *testing.T) {
	c := modeltest.Resolve(t, modeltest.Small(models.Standard())[0].Config)
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	seen, off := 0, false
	g, err := generate.New(store, c, nil, generate.Options{Threads: 1, Hooks: graph.Hooks{"blocks.1.attention.heads": func(_ string, x *tensor.Dense) error {
		seen += x.Shape()[0]
		if off {
			clear(x.Float32s())
		}
		return nil
	}}})
	require.NoError(t, err)
	defer g.Close()
	logProbs := func() (all []float64) {
		_, err := g.Generate(context.Background(), generate.Request{IDs: []int32{1, 7, 3}, Tokens: 3, LogProbs: 1}, func(p generate.Piece) error {
			for _, token := range p.Tokens {
				all = append(all, token.LogProb)
			}
			return nil
		})
		require.NoError(t, err)
		return all
	}
	before := logProbs()
	assert.Equal(t, 5, seen, "the last token is not fed")
	off = true
	assert.NotEqual(t, before, logProbs())
}

// TestHooksEndWithGenerate: when Generate returns early, no hook is still running.
func TestHooksEndWithGenerate(t *testing.T) {
	c := modeltest.Resolve(t, modeltest.Small(models.Standard())[0].Config)
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	ctx, cancel := context.WithCancel(t.Context())
	tokens, leave := 0, make(chan struct{})
	var inside atomic.Bool
	g, err := generate.New(store, c, nil, generate.Options{Threads: 1, Hooks: graph.Hooks{"blocks.1.attention.heads": func(string, *tensor.Dense) error {
		if tokens++; tokens == 4 {
			inside.Store(true)
			cancel()
			time.AfterFunc(50*time.Millisecond, func() { close(leave) })
			<-leave
			inside.Store(false)
		}
		return nil
	}}})
	require.NoError(t, err)
	defer g.Close()
	_, err = g.Generate(ctx, generate.Request{IDs: []int32{1, 7, 3}, Tokens: 3}, nil)
	assert.ErrorIs(t, err, context.Canceled)
	assert.False(t, inside.Load())
	result, err := g.Generate(t.Context(), generate.Request{IDs: []int32{1, 7, 3}, Tokens: 3}, nil)
	require.NoError(t, err)
	assert.Equal(t, 3, result.Tokens, "the generator goes on")
}
