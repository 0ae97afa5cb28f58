package generate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
)

// TestSampleSeeds: the seeds never change, so that the number of a sample always gives the same
// sample.
func TestSampleSeeds(t *testing.T) {
	assert.EqualValues(t, uint64(1)<<63, generate.SampleSeed(1<<63, 0))
	assert.EqualValues(t, uint64(0x13c5f635c62d0d), generate.SampleSeed(7, 1))
	seen := map[uint64]bool{}
	for seed := range uint64(30) {
		for i := range 30 {
			s := generate.SampleSeed(seed, i)
			assert.False(t, seen[s], "seed %d, sample %d", seed, i)
			assert.Less(t, s, uint64(1)<<53)
			seen[s] = true
		}
	}
}

// TestStopStringEndsTheText: the text ends before the stop string, the result contains its tokens,
// and the next request is not affected.
func TestStopStringEndsTheText(t *testing.T) {
	c := tinyVector("none")
	g := newGenerator(t, freshStore(t, c), c, generate.Options{})
	r := generate.Request{Prompt: "x", Tokens: 60, Temperature: 1, Seed: 5}
	whole, full := run(t, g, r)
	require.Equal(t, generate.StopTokens, full.Stop)
	at := strings.IndexFunc(whole, func(r rune) bool { return r > ' ' && r < 127 }) // one character, one token
	r.Stop = []string{whole[at : at+1]}
	text, result := run(t, g, r)
	assert.Equal(t, whole[:at], text)
	assert.Equal(t, generate.StopString, result.Stop)
	assert.Less(t, result.Tokens, full.Tokens)
	assert.Equal(t, full.IDs[:result.Tokens], result.IDs)
	assert.EqualValues(t, whole[at], result.IDs[result.Tokens-1])

	r.Stop = []string{"\ufffd"} // that a byte which is no character makes, here perhaps at the end
	text, result = run(t, g, r)
	assert.NotContains(t, text, "\ufffd")
	assert.Equal(t, generate.StopString, result.Stop)
	r.Stop = nil
	again, _ := run(t, g, r)
	assert.Equal(t, whole, again)
}

// TestIDsAreReadAsTheyAre: the ids of a prompt give the same text as the prompt; without BOS the
// text differs; a Generator without a tokenizer gives the same ids.
func TestIDsAreReadAsTheyAre(t *testing.T) {
	c := tiny("alibi")
	store := wildStore(t, c)
	g := newGenerator(t, store, c, generate.Options{})
	text, told := run(t, g, generate.Request{Prompt: "ab", Tokens: 12})
	same, result := run(t, g, generate.Request{IDs: told.PromptIDs, Tokens: 12})
	assert.Equal(t, text, same)
	assert.Equal(t, timeless(told), timeless(result))
	_, bare := run(t, g, generate.Request{IDs: []int32{'a', 'b'}, Tokens: 12})
	assert.NotEqual(t, told.IDs, bare.IDs)
	assert.Equal(t, 2, bare.PromptTokens)

	mute, err := generate.New(store, resolved(t, c), nil, generate.Options{Threads: 2})
	require.NoError(t, err)
	defer mute.Close()
	nothing, result := run(t, mute, generate.Request{IDs: told.PromptIDs, Tokens: 12, Echo: true})
	assert.Empty(t, nothing)
	assert.Equal(t, told.IDs, result.IDs)
	for key, r := range map[string]generate.Request{"ids": {Prompt: "ab"}, "stop": {IDs: []int32{1}, Stop: []string{"a"}}} {
		_, err := mute.Generate(context.Background(), r, nil)
		setting(key)(t, err)
	}
}
