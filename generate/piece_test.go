package generate_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/models"
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

// TestLogProbsAreOfTheModelsDistribution: the exponentials of log probabilities sum to 1 over the
// vocabulary, tokens are ranked with the likeliest first, and settings of sampling change nothing.
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

// TestPiecesHoldEveryToken: pieces also contain the tokens of a stop string and of unfinished
// characters.
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

// TestPromptLogProbs: each token of the prompt has the same log probability as if it had been
// generated after the tokens before it.
func TestPromptLogProbs(t *testing.T) {
	c := tiny("alibi")
	g := newGenerator(t, wildStore(t, c), c, generate.Options{})
	text, tokens, result := pieces(t, g, generate.Request{Prompt: "dé", Echo: true, LogProbs: 257, PromptLogProbs: true, Tokens: 2})
	require.Len(t, tokens, 4+2)
	assert.Equal(t, generate.Token{ID: bos}, tokens[0])
	assert.Equal(t, "dé", text[:3])
	for i, id := range result.PromptIDs[1:] {
		_, next, _ := pieces(t, g, generate.Request{IDs: result.PromptIDs[:i+1], Tokens: 1, LogProbs: 257})
		assert.Equal(t, next[0].Top, tokens[i+1].Top)
		assert.Equal(t, id, tokens[i+1].ID)
		assert.Contains(t, next[0].Top, generate.Token{ID: id, Text: tokens[i+1].Text, LogProb: tokens[i+1].LogProb})
	}
	_, alone, scored := pieces(t, g, generate.Request{IDs: result.PromptIDs, Echo: true, LogProbs: 257, PromptLogProbs: true})
	assert.Equal(t, tokens[:4], alone)
	assert.Zero(t, scored.Tokens)
	_, after, _ := pieces(t, g, generate.Request{Prompt: "dé", LogProbs: 257, Tokens: 2})
	assert.Equal(t, tokens[4:], after)
}

// TestPromptLogProbsSlide: the token after a full window has the log probability that it has after
// exactly that window; asking for log probabilities does not change the text.
func TestPromptLogProbsSlide(t *testing.T) {
	c := tiny(models.PositionsLearned)
	g := newGenerator(t, wildStore(t, c), c, generate.Options{})
	var ids []int32
	for i := range g.Window() + 3 {
		ids = append(ids, int32('a'+i*7%26))
	}
	_, tokens, _ := pieces(t, g, generate.Request{IDs: ids, Slide: true, Echo: true, LogProbs: 1, PromptLogProbs: true, Tokens: 2})
	require.Len(t, tokens, len(ids)+2)
	last := g.Window()
	_, next, _ := pieces(t, g, generate.Request{IDs: ids[:last], Tokens: 1, LogProbs: 257})
	assert.Contains(t, next[0].Top, generate.Token{ID: ids[last], Text: tokens[last].Text, LogProb: tokens[last].LogProb})
	_, after, _ := pieces(t, g, generate.Request{IDs: ids, Slide: true, LogProbs: 1, Tokens: 2})
	assert.Equal(t, after, tokens[len(ids):])
}
