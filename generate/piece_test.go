package generate_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
)

// pieces runs a request and returns the text and all tokens that were emitted.
func pieces(t *testing.T, g *generate.Generator, r generate.Request) (text string, tokens []generate.Token, result generate.Result) {
	result, err := g.Generate(context.Background(), r, func(p generate.Piece) error {
		text += p.Text
		tokens = append(tokens, p.Tokens...)
		return nil
	})
	require.NoError(t, err)
	return text, tokens, result
}

// TestLogProbsAreOfTheModelsDistribution: their exponentials sum to 1 over the vocabulary,
// they rank from the likeliest on, and sampling's settings change none of them.
func TestLogProbsAreOfTheModelsDistribution(t *testing.T) {
	c := tiny("alibi")
	g := newGenerator(t, wildStore(t, c), c, generate.Options{})
	_, greedy, result := pieces(t, g, generate.Request{Prompt: "ab", Tokens: 9, LogProbs: 257})
	require.Len(t, greedy, 9)
	for i, token := range greedy {
		require.Len(t, token.Top, 257)
		assert.Equal(t, result.IDs[i], token.ID)
		assert.Equal(t, token.LogProb, token.Top[0].LogProb, "greedy")
		sum := 0.0
		for j, other := range token.Top {
			sum += math.Exp(other.LogProb)
			assert.True(t, j == 0 || other.LogProb <= token.Top[j-1].LogProb)
			assert.Empty(t, other.Top)
		}
		assert.InDelta(t, 1, sum, 1e-12)
	}
	_, drawn, _ := pieces(t, g, generate.Request{Prompt: "ab", Tokens: 1, LogProbs: 3, Temperature: 5, TopK: 200, TopP: 0.9, Seed: 4})
	assert.Equal(t, greedy[0].Top[:3], drawn[0].Top)
	_, plain, _ := pieces(t, g, generate.Request{Prompt: "ab", Tokens: 9})
	for i, token := range plain {
		assert.Equal(t, generate.Token{ID: greedy[i].ID, Text: greedy[i].Text}, token)
	}
}

// TestPiecesHoldEveryToken: those of a stop string and of unfinished characters, too.
func TestPiecesHoldEveryToken(t *testing.T) {
	c := tinyVector("none")
	g := newGenerator(t, freshStore(t, c), c, generate.Options{})
	r := generate.Request{Prompt: "x", Echo: true, Tokens: 60, Temperature: 1, Seed: 5}
	whole, tokens, result := pieces(t, g, r)
	check := func() {
		var ids []int32
		for _, token := range tokens {
			ids = append(ids, token.ID)
			assert.Equal(t, string([]byte{byte(token.ID)}), token.Text)
		}
		assert.Equal(t, result.IDs, ids)
	}
	check()
	r.Stop = []string{string([]rune(whole)[20:23])}
	_, tokens, result = pieces(t, g, r)
	assert.Equal(t, generate.StopString, result.Stop)
	check()

	mute, err := generate.New(freshStore(t, c), resolved(t, c), nil, generate.Options{Threads: 1})
	require.NoError(t, err)
	defer mute.Close()
	text, tokens, result := pieces(t, mute, generate.Request{IDs: []int32{1}, Tokens: 5})
	assert.Empty(t, text)
	require.Len(t, tokens, 5)
	for i, token := range tokens {
		assert.Equal(t, generate.Token{ID: result.IDs[i]}, token)
	}
}
