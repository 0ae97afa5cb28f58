package generate_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

func inf() float64 { zero := 0.0; return 1 / zero }

// is returns a check for an error that is, or wraps, target.
func is(target error) func(*testing.T, error) {
	return func(t *testing.T, err error) { assert.ErrorIs(t, err, target) }
}

// setting returns a check for an error about the setting of that name.
func setting(key string) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		var bad *layers.SettingError
		if assert.ErrorAs(t, err, &bad) {
			assert.Equal(t, key, bad.Key)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	c := tiny(models.PositionsLearned)
	store := freshStore(t, c)
	other := tiny(models.PositionsLearned)
	other.Layers = 3
	narrow := tiny(models.PositionsLearned)
	narrow.Vocab, narrow.BOS = 200, 0
	for _, r := range []struct {
		name   string
		store  *graph.Store
		config models.Config
		o      generate.Options
		check  func(*testing.T, error)
	}{
		{"no store", nil, c, generate.Options{}, is(models.ErrNoParameters)},
		{"empty store", graph.NewStore(tensor.Float32, 0), c, generate.Options{}, is(models.ErrNoParameters)},
		{"other model", freshStore(t, c), other, generate.Options{}, func(t *testing.T, err error) {
			assert.ErrorContains(t, err, `parameter "blocks.2.attention.norm": the store does not have it`)
		}},
		{"small vocabulary", store, narrow, generate.Options{}, func(t *testing.T, err error) {
			var vocabulary *data.VocabularyError
			require.ErrorAs(t, err, &vocabulary)
			assert.Equal(t, data.VocabularyError{Tokenizer: "bytes", IDs: 257, Model: 200}, *vocabulary)
		}},
		{"wide window", store, c, generate.Options{Window: 13}, setting("window")},
		{"negative window", store, c, generate.Options{Window: -1}, setting("window")},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, err := generate.New(r.store, resolved(t, r.config), bytesTokenizer(t), r.o)
			r.check(t, err)
		})
	}
	assert.Len(t, store.Params(), len(freshStore(t, c).Params()), "what was refused has added nothing")
}

func TestRequestsThatAreRefused(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	g := newGenerator(t, freshStore(t, c), c, generate.Options{})
	for _, c := range []struct {
		key string
		r   generate.Request
	}{
		{"tokens", generate.Request{Tokens: -1}},
		{"temperature", generate.Request{Temperature: -0.1}},
		{"temperature", generate.Request{Temperature: inf()}},
		{"top-k", generate.Request{TopK: -1}},
		{"top-p", generate.Request{TopP: 1.1}},
		{"top-p", generate.Request{TopP: -1}},
		{"min-p", generate.Request{MinP: 1.1}},
		{"min-p", generate.Request{MinP: -0.1}},
		{"repetition-penalty", generate.Request{RepetitionPenalty: -1}},
		{"repetition-penalty", generate.Request{RepetitionPenalty: inf()}},
		{"logit-bias", generate.Request{LogitBias: map[int32]float64{1: inf()}}},
		{"logit-bias", generate.Request{LogitBias: map[int32]float64{1: inf() - inf()}}},
		{"logit-bias", generate.Request{LogitBias: map[int32]float64{257: 1}}},
		{"logit-bias", generate.Request{LogitBias: map[int32]float64{-1: 1}}},
		{"logprobs", generate.Request{LogProbs: -1}},
		{"prompt-logprobs", generate.Request{PromptLogProbs: true, LogProbs: 1}},
		{"stop", generate.Request{Stop: []string{"a", ""}}},
		{"ids", generate.Request{Prompt: "a", IDs: []int32{1}}},
		{"ids", generate.Request{IDs: []int32{1, 257}}},
		{"ids", generate.Request{IDs: []int32{-1}}},
	} {
		_, err := g.Generate(context.Background(), c.r, nil)
		setting(c.key)(t, err)
	}
	_, err := g.Generate(context.Background(), generate.Request{TopK: -1}, nil)
	assert.EqualError(t, err, "top-k: want >= 1, or 0 for no limit, got -1")
}

// TestPromptLongerThanTheWindow is refused with the limit, unless it may slide.
func TestPromptLongerThanTheWindow(t *testing.T) {
	c := tiny(models.PositionsLearned)
	g := newGenerator(t, freshStore(t, c), c, generate.Options{})
	r := generate.Request{Prompt: "twelve chars", Tokens: 1}
	_, err := g.Generate(context.Background(), r, nil)
	var long *generate.WindowError
	require.ErrorAs(t, err, &long)
	assert.Equal(t, generate.WindowError{Tokens: 13, Window: 12}, *long)
	assert.EqualError(t, err, "prompt: want at most 12 tokens, the model's window, got 13: shorten it, or set slide (-slide), so that the model sees its end alone")
	r.Slide = true
	_, err = g.Generate(context.Background(), r, nil)
	require.NoError(t, err)
	_, err = g.Generate(context.Background(), generate.Request{Prompt: "eleven char", Tokens: 1}, nil)
	require.NoError(t, err)
}

// TestWindowBeyondMemoryIsRefused: a window that does not fit in memory is refused before keys and
// values are allocated, and the error gives the largest window that would fit.
func TestWindowBeyondMemoryIsRefused(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	store := freshStore(t, c)
	for _, window := range []int{math.MaxInt / 4, math.MaxInt} {
		_, err := generate.New(store, resolved(t, c), bytesTokenizer(t), generate.Options{Window: window})
		assert.Regexp(t, `^window: want at most \d+ tokens, whose keys and values fill the \S+ [MG]B of memory that are available, got \d+$`, err.Error())
	}
	c.Seq = 1<<31 - 1 // as a file may claim where positions are not parameters
	_, err := generate.New(store, resolved(t, c), bytesTokenizer(t), generate.Options{})
	setting("window")(t, err)
	g, err := generate.New(store, resolved(t, c), bytesTokenizer(t), generate.Options{Window: 100})
	require.NoError(t, err)
	g.Close()
}
