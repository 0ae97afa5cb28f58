package eval_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// ids returns the bytes of a text as token ids.
func ids(text string) []int32 {
	var out []int32
	for _, b := range []byte(text) {
		out = append(out, int32(b))
	}
	return out
}

// TestLikelihoods: each answer equals the one from a row of its own with the last window + 1
// tokens, however requests share rows and batches.
func TestLikelihoods(t *testing.T) {
	store, spec := tiny(t) // a window of 6
	requests := []eval.Request{
		{ids("ab"), ids("c")},
		{ids("ab"), ids("d")}, // shares its row
		{ids("ab"), ids("cd")},
		{ids("ab"), ids("cde")},
		{ids("x"), ids("y")},
		{ids("abcdef"), ids("gh")},     // the model sees cdefg, and b
		{ids("abcdefghi"), ids("j")},   // loses its beginning
		{ids("0"), ids("123456")},      // the whole window
		{ids("012345"), ids("678901")}, // the continuation alone, and one before it
	}
	for _, batch := range []int{0, 1, 3} {
		answers, err := eval.Likelihoods(context.Background(), store, spec, requests, eval.Options{Batch: batch})
		require.NoError(t, err)
		require.Len(t, answers, len(requests))
		for i, r := range requests {
			window := data.NewTokens(spec.Vocab, append(append([]int32{}, r.Context...), r.Continuation...))
			window = window.From(max(0, window.Len()-spec.Seq-1))
			losses := naive(t, store, spec, window)
			losses = losses[len(losses)-len(r.Continuation):]
			sum := 0.0
			require.Len(t, answers[i].LogProbs, len(losses))
			for p, loss := range losses {
				assert.InDelta(t, -loss, answers[i].LogProbs[p], 1e-5, "request %d, token %d", i, p)
				sum += answers[i].LogProbs[p]
			}
			assert.Equal(t, sum, answers[i].Sum())
		}
	}
}

// TestGreedy: among all continuations of one token, only the likeliest is greedy.
func TestGreedy(t *testing.T) {
	store, spec := tiny(t)
	var requests []eval.Request
	for id := range spec.Vocab {
		requests = append(requests, eval.Request{Context: ids("abc"), Continuation: []int32{int32(id)}})
	}
	answers, err := eval.Likelihoods(context.Background(), store, spec, requests, eval.Options{})
	require.NoError(t, err)
	best, sum := 0, 0.0
	for id := range answers {
		if answers[id].Sum() > answers[best].Sum() {
			best = id
		}
		sum += math.Exp(answers[id].Sum())
	}
	assert.InDelta(t, 1, sum, 1e-7, "log probabilities of all tokens, their exponentials in float32")
	for id := range answers {
		assert.Equal(t, id == best, answers[id].Greedy, "token %d", id)
	}
	next := 0
	for id := range answers {
		if id != best {
			next = id
		}
	}
	pair, err := eval.Likelihoods(context.Background(), store, spec, []eval.Request{{ids("abc"), []int32{int32(best), int32(next)}}, {ids("abc"), []int32{int32(next), 'a'}}}, eval.Options{})
	require.NoError(t, err)
	assert.False(t, pair[1].Greedy, "the first token is not the likeliest")
}

func TestLikelihoodsRefuse(t *testing.T) {
	store, spec := tiny(t)
	call := func(o eval.Options, requests ...eval.Request) error {
		_, err := eval.Likelihoods(context.Background(), store, spec, requests, o)
		return err
	}
	fine := eval.Request{Context: ids("a"), Continuation: ids("b")}
	for _, c := range []struct {
		request eval.Request
		want    string
	}{
		{eval.Request{Continuation: ids("b")}, "want a context of at least 1 token, got none"},
		{eval.Request{Context: ids("b")}, "want a continuation of at least 1 token, got none"},
		{eval.Request{Context: ids("a"), Continuation: ids("bcdefgh")}, "want a continuation of at most 6 tokens, the model's training length, got 7"},
		{eval.Request{Context: []int32{257}, Continuation: ids("b")}, "token 0: want an id of 0 to 256, got 257: was the text encoded with another model's tokenizer?"},
		{eval.Request{Context: ids("a"), Continuation: []int32{-1}}, "token 0: want an id of 0 to 256, got -1: was the text encoded with another model's tokenizer?"},
	} {
		err := call(eval.Options{}, fine, c.request)
		var bad *eval.RequestError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, 1, bad.Index)
		assert.EqualError(t, err, c.want)
	}
	var setting *layers.SettingError
	assert.ErrorAs(t, call(eval.Options{Batch: -1}, fine), &setting)
	_, err := eval.Likelihoods(context.Background(), nil, spec, nil, eval.Options{})
	assert.ErrorIs(t, err, models.ErrNoParameters)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = eval.Likelihoods(ctx, store, spec, []eval.Request{fine}, eval.Options{})
	assert.ErrorIs(t, err, context.Canceled)

	store.Params()[0].Value.Float32s()['a'*8] = float32(math.NaN())
	assert.ErrorIs(t, call(eval.Options{}, fine), models.ErrDiverged)
}
