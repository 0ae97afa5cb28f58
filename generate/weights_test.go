package generate_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// TestWeightsInFewerBits: a text is the same whether its prompt is read at once or token by token,
// its tokens are nearly as likely as in float32, and the float32 weights are freed if the options
// ask for it.
func TestWeightsInFewerBits(t *testing.T) {
	for name, c := range map[string]models.Config{"gelu": tinyVector(models.PositionsLearned), "swiglu": tinyVector(models.PositionsRoPE)} {
		c.Stream, c.FeedForward, c.Bias, c.TieEmbeddings, c.Seq = models.Transformer(2, 96, 128, 2).Stream, layers.GELUConfig{Hidden: 128}, false, true, 40
		if name == "swiglu" {
			c.FeedForward = layers.SwiGLUConfig{Hidden: 128}
		}
		want := weightsText(t, c, generate.Options{})
		for _, precision := range []graph.Precision{graph.BF16, graph.INT8} {
			got := weightsText(t, c, generate.Options{Precision: precision, Release: true})
			assert.Equal(t, got, weightsText(t, c, generate.Options{Precision: precision, Release: true}))
			assert.NotEqual(t, want, got, "%s %s", name, precision)
			assert.InDeltaSlice(t, want, got, 0.05, "%s %s", name, precision)
		}
	}
}

// weightsText returns the log probabilities of a prompt's tokens.
func weightsText(t *testing.T, c models.Config, o generate.Options) []float64 {
	store := freshStore(t, c)
	g, err := generate.New(store, resolved(t, c), nil, o)
	require.NoError(t, err)
	defer g.Close()
	if o.Release {
		dropped := 0
		for _, p := range store.Params() {
			if p.Value == nil {
				dropped += p.Size()
			}
		}
		assert.Greater(t, dropped, 2*96*4*96, "entries without float32 values")
	}
	var all []float64
	_, err = g.Generate(context.Background(), generate.Request{IDs: []int32{7, 3, 200, 41, 9, 77, 31, 2, 5, 8, 11, 19, 23, 29, 37, 43, 47, 53}, Tokens: 3, LogProbs: 1, PromptLogProbs: true, Echo: true},
		func(p generate.Piece) error {
			for _, l := range p.Tokens {
				all = append(all, l.LogProb)
			}
			return nil
		})
	require.NoError(t, err)
	return all
}
