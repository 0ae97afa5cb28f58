package serve_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/serve"
)

func TestCompletion(t *testing.T) {
	f := &fake{}
	server := newServer(t, f, serve.Options{})
	c := complete(t, server, `{"model": "tiny", "prompt": "ab", "max_tokens": 3}`)
	assert.Equal(t, "text_completion", c.Object)
	assert.Equal(t, "tiny", c.Model)
	assert.True(t, strings.HasPrefix(c.ID, "cmpl-"))
	assert.NotZero(t, c.Created)
	require.Len(t, c.Choices, 1)
	assert.Equal(t, "bbb", c.Choices[0].Text)
	assert.Equal(t, "length", *c.Choices[0].FinishReason)
	assert.Nil(t, c.Choices[0].LogProbs)
	assert.Equal(t, 3, c.Usage.Prompt, "BOS, a, b")
	assert.Equal(t, 3, c.Usage.Completion)
	assert.Equal(t, 6, c.Usage.Total)

	assert.Len(t, complete(t, server, `{"prompt": "ab"}`).Choices[0].Text, 16, "OpenAI's default")
	assert.Equal(t, "abb", complete(t, server, `{"prompt": "ab", "max_tokens": 1, "echo": true}`).Choices[0].Text)
	assert.Equal(t, "ab", complete(t, server, `{"prompt": "ab", "max_tokens": 0, "echo": true}`).Choices[0].Text)
	stopped := complete(t, server, `{"prompt": "ab", "stop": "b", "logprobs": 1}`).Choices[0]
	assert.Equal(t, "", stopped.Text)
	assert.Equal(t, "stop", *stopped.FinishReason)
	assert.Empty(t, stopped.LogProbs.Tokens, "tokens of a stop string are no part of the text")
}

func TestPromptsOfEveryForm(t *testing.T) {
	f := &fake{}
	server := newServer(t, f, serve.Options{}, func(m *serve.Model) { m.Parallel = 1 })
	for _, c := range []struct {
		prompt string
		want   [][]int32
	}{
		{`"ab", "add_special_tokens": true`, [][]int32{{256, 'a', 'b'}}},
		{`"ab", "add_special_tokens": false`, [][]int32{{'a', 'b'}}},
		{`"ab"`, [][]int32{{256, 'a', 'b'}}},
		{`["a", "", "c"]`, [][]int32{{256, 'a'}, {256}, {256, 'c'}}},
		{`[97, 98]`, [][]int32{{'a', 'b'}}},
		{` [ [97] , [98, 256] ]`, [][]int32{{'a'}, {'b', 256}}},
		{`null`, [][]int32{{256}}},
		{`"né\ud83d\ude00"`, [][]int32{append([]int32{256}, bytesTokenizer().Encode(nil, "né😀")...)}},
	} {
		f.asked = nil
		got := complete(t, server, `{"max_tokens": 2, "prompt": `+c.prompt+`}`)
		var ids [][]int32
		for _, r := range f.asked {
			ids = append(ids, r.IDs)
		}
		assert.Equal(t, c.want, ids, c.prompt)
		require.Len(t, got.Choices, len(c.want))
		for i, choice := range got.Choices {
			assert.Equal(t, i, choice.Index)
		}
	}
}

// TestSettings: each setting reaches the model under the model's name for it.
func TestSettings(t *testing.T) {
	f := &fake{}
	server := newServer(t, f, serve.Options{})
	complete(t, server, `{"prompt": "a", "max_tokens": 1, "seed": 7}`)
	assert.Equal(t, generate.Request{IDs: []int32{256, 'a'}, Tokens: 1, Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: 7}, f.asked[0], "OpenAI's defaults")
	complete(t, server, `{"prompt": "a", "max_tokens": 2, "seed": -1, "temperature": 0.5, "top_p": 0.25, "top_k": 9, "min_p": 0.125,
		"repetition_penalty": 1.5, "logit_bias": {"97": -100, "256": 2}, "stop": ["x", "yz"], "echo": true, "logprobs": 3, "user": "someone", "best_of": 1,
		"presence_penalty": 0, "suffix": null, "stream": false, "n": 1, "frequency_penalty": 0}`)
	assert.Equal(t, generate.Request{
		IDs: []int32{256, 'a'}, Tokens: 2, Temperature: 0.5, TopP: 0.25, TopK: 9, MinP: 0.125, RepetitionPenalty: 1.5,
		LogitBias: map[int32]float64{97: -100, 256: 2}, Stop: []string{"x", "yz"}, Echo: true, LogProbs: 3, PromptLogProbs: true, Seed: math.MaxUint64,
	}, f.asked[1])
	complete(t, server, `{"prompt": "a", "top_k": -1, "logprobs": 0}`)
	assert.Equal(t, 0, f.asked[2].TopK, "as vLLM says: all")
	assert.Equal(t, 1, f.asked[2].LogProbs, "the token's own is wanted")
	complete(t, server, `{"prompt": "a"}`)
	assert.NotEqual(t, f.asked[2].Seed, f.asked[3].Seed, "without a seed, each request has another")

	complete(t, server, `{"prompt": "a", "max_tokens": null, "n": null, "temperature": null, "top_p": null, "stop": null, "logprobs": null, "seed": 1, "stream_options": null}`)
	assert.Equal(t, generate.Request{IDs: []int32{256, 'a'}, Tokens: 16, Temperature: 1, TopP: 1, RepetitionPenalty: 1, Seed: 1}, f.asked[4], "null is the default")
}

func TestSamples(t *testing.T) {
	f := &fake{}
	server := newServer(t, f, serve.Options{}, func(m *serve.Model) { m.Parallel = 1 })
	c := complete(t, server, `{"prompt": ["a", "b"], "n": 3, "seed": 5, "max_tokens": 2}`)
	require.Len(t, c.Choices, 6)
	assert.Equal(t, "aa", c.Choices[2].Text)
	assert.Equal(t, "bb", c.Choices[3].Text)
	assert.Equal(t, 4, c.Usage.Prompt, "each prompt once")
	assert.Equal(t, 12, c.Usage.Completion)
	for i, r := range f.asked {
		assert.Equal(t, generate.SampleSeed(5, i%3), r.Seed)
	}
}

func TestLogProbs(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{})
	text := complete(t, server, `{"prompt": "éb", "max_tokens": 1, "echo": true, "logprobs": 1}`).Choices[0]
	assert.Equal(t, "ébb", text.Text)
	assert.Equal(t, []string{`bytes:\xc3`, `bytes:\xa9`, "b", "b"}, text.LogProbs.Tokens)
	assert.Equal(t, []int{0, 0, 1, 2}, text.LogProbs.TextOffset, "in characters")
	require.Len(t, text.LogProbs.TokenLogProbs, 4)
	assert.Equal(t, -0.195, *text.LogProbs.TokenLogProbs[0], "what a BOS says of the text's first token")
	assert.Equal(t, map[string]float64{"x": -0.01, "b": -0.098}, text.LogProbs.TopLogProbs[2], "the likeliest, and the token itself")

	ids := complete(t, server, `{"prompt": [256, 97, 98], "max_tokens": 1, "echo": true, "logprobs": 0}`).Choices[0].LogProbs
	assert.Equal(t, []string{"token_id:256", "a", "b", "b"}, ids.Tokens)
	assert.Nil(t, ids.TokenLogProbs[0], "nothing stands before the first token")
	assert.Nil(t, ids.TopLogProbs[0])
	assert.Equal(t, map[string]float64{"a": -0.097}, ids.TopLogProbs[1])

	cut := complete(t, server, `{"prompt": [226, 128, 98, 195, 226, 130, 172], "max_tokens": 1, "echo": true, "logprobs": 0}`).Choices[0]
	assert.True(t, strings.HasPrefix(cut.Text, "\ufffd\ufffdb\ufffd€"), cut.Text)
	assert.Equal(t, []int{0, 0, 2, 3, 4, 4, 4, 5}, cut.LogProbs.TextOffset, "after characters that are cut off")

	tokens := complete(t, server, `{"prompt": "a", "max_tokens": 2, "logprobs": 5}`).Choices[0].LogProbs
	assert.Equal(t, []string{"a", "a"}, tokens.Tokens, "without echo, those of what was generated")
}

func TestLogProbsAreOrdered(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{})
	body := post(t, server, "/v1/completions", `{"prompt": "a", "max_tokens": 1, "logprobs": 1}`).Body
	assert.Contains(t, body, `"top_logprobs":[{"x":-0.01,"a":-0.097}]`, "likeliest first")
	var any map[string]any
	assert.NoError(t, json.Unmarshal([]byte(body), &any))
}

// TestWindow: a prompt longer than the window is refused, or slides if the server allows it.
func TestWindow(t *testing.T) {
	f := &fake{}
	server := newServer(t, f, serve.Options{})
	prompt := func(n int) string { return `{"prompt": "` + strings.Repeat("a", n-1) + `"` } // with a BOS
	assert.Equal(t, 16, complete(t, server, prompt(50)+`}`).Usage.Completion)
	assert.Equal(t, 1, complete(t, server, prompt(window)+`}`).Usage.Completion, "the last token is not read")
	assert.Equal(t, 1, complete(t, server, prompt(window)+`, "max_tokens": 1}`).Usage.Completion)
	too := post(t, server, "/v1/completions", prompt(window)+`, "max_tokens": 2}`)
	too.refused(t, 400, "max_tokens", "this model's maximum context length is 100 tokens, however you requested 100 in your prompt and 2 for the completion")
	assert.Contains(t, too.Body, `"code":"context_length_exceeded"`)
	post(t, server, "/v1/completions", prompt(window+1)+`, "max_tokens": 0}`).refused(t, 400, "max_tokens", "101 in your prompt")
	post(t, server, "/v1/completions", prompt(window+1)+`}`).refused(t, 400, "max_tokens", "101 in your prompt")
	post(t, server, "/v1/completions", prompt(5)+`, "max_tokens": 9223372036854775807}`).refused(t, 400, "max_tokens", "maximum context length")

	sliding := newServer(t, f, serve.Options{}, func(m *serve.Model) { m.Slide = true })
	assert.Equal(t, 200, complete(t, sliding, prompt(window+1)+`, "max_tokens": 200}`).Usage.Completion)
	assert.True(t, f.asked[len(f.asked)-1].Slide)
	assert.Equal(t, 16, complete(t, sliding, prompt(window+1)+`}`).Usage.Completion)
}

func TestModelWithoutTokenizer(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{}, func(m *serve.Model) { m.Tokenizer = nil })
	assert.Equal(t, 2, complete(t, server, `{"prompt": [1, 2], "max_tokens": 2}`).Usage.Completion)
	post(t, server, "/v1/completions", `{"prompt": "a"}`).refused(t, 400, "prompt", "want token ids, each below 257: the model tiny has no tokenizer")
	post(t, server, "/tokenize", `{"prompt": "a"}`).refused(t, 400, "model", "tiny has none")
}
