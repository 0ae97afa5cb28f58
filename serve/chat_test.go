package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/serve"
)

// chatServer serves a fake model whose chat template gives the last message's content, or an error
// if it is "refuse".
func chatServer(t *testing.T, f *fake, o serve.Options) *httptest.Server {
	t.Helper()
	chat := func(_ context.Context, c serve.ChatPrompt) ([]int32, error) {
		var messages []struct{ Role, Content string }
		if err := json.Unmarshal(c.Messages, &messages); err != nil {
			return nil, err
		}
		text := messages[len(messages)-1].Content + string(c.Tools)
		if text == "refuse" {
			return nil, errors.New("roles must alternate")
		}
		return bytesTokenizer().Encode([]int32{256}, text), nil
	}
	s, err := serve.New([]serve.Model{{Name: "tiny", Generator: f, Tokenizer: bytesTokenizer(), Vocab: 257, Window: window, Chat: chat},
		{Name: "plain", Generator: f, Tokenizer: bytesTokenizer(), Vocab: 257, Window: window}}, o)
	require.NoError(t, err)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server
}

// chatAnswer is a decoded answer of /v1/chat/completions, or a chunk of one.
type chatAnswer struct {
	ID, Object, Model string
	Choices           []struct {
		Index          int
		Message, Delta *struct{ Role, Content *string }
		FinishReason   *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
}

const chats = "/v1/chat/completions"

// TestChat: an answer has a message of the assistant for each choice, and without max_tokens it
// goes on to the end of the window.
func TestChat(t *testing.T) {
	f := &fake{}
	server := chatServer(t, f, serve.Options{})
	got := post(t, server, chats, `{"messages": [{"role": "user", "content": "ab"}], "max_completion_tokens": 3, "n": 2, "temperature": 0, "seed": 1}`)
	require.Equal(t, http.StatusOK, got.Code, got.Body)
	var a chatAnswer
	require.NoError(t, json.Unmarshal([]byte(got.Body), &a))
	assert.Equal(t, []string{"chat.completion", "tiny"}, []string{a.Object, a.Model})
	assert.True(t, strings.HasPrefix(a.ID, "chatcmpl-"))
	require.Len(t, a.Choices, 2)
	for i, c := range a.Choices {
		assert.Equal(t, []any{i, "assistant", "bbb", "length"}, []any{c.Index, *c.Message.Role, *c.Message.Content, *c.FinishReason})
		assert.Nil(t, c.Delta)
	}
	assert.Equal(t, []int{3, 6}, []int{a.Usage.Prompt, a.Usage.Completion})
	post(t, server, chats, `{"messages": [{"role": "user", "content": "x"}], "tools": [1]}`)
	last := f.asked[len(f.asked)-1]
	assert.Equal(t, bytesTokenizer().Encode([]int32{256}, "x[1]"), last.IDs)
	assert.Equal(t, window+1-len(last.IDs), last.Tokens)
	stopped := post(t, server, chats, `{"messages": [{"role": "user", "content": "x"}], "stop": "x", "max_tokens": 5}`)
	assert.Contains(t, stopped.Body, `"message":{"role":"assistant","content":""},"logprobs":null,"finish_reason":"stop"`)
}

// TestChatStream: the first chunk of a choice names the role, the last has a reason and no content,
// and a chunk with the usage follows if it was asked for.
func TestChatStream(t *testing.T) {
	server := chatServer(t, &fake{}, serve.Options{})
	got := post(t, server, chats, `{"messages": [{"role": "user", "content": "ab"}], "max_tokens": 2, "stream": true, "stream_options": {"include_usage": true}}`)
	assert.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
	blocks := strings.Split(strings.TrimSuffix(got.Body, "\n\n"), "\n\n")
	require.Len(t, blocks, 5)
	assert.Equal(t, "data: [DONE]", blocks[4])
	var chunks []chatAnswer
	for _, block := range blocks[:4] {
		var c chatAnswer
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(block, "data: ")), &c))
		assert.Equal(t, "chat.completion.chunk", c.Object)
		chunks = append(chunks, c)
	}
	assert.Equal(t, []string{"assistant", "b"}, []string{*chunks[0].Choices[0].Delta.Role, *chunks[0].Choices[0].Delta.Content})
	assert.Nil(t, chunks[1].Choices[0].Delta.Role)
	assert.Equal(t, "b", *chunks[1].Choices[0].Delta.Content)
	assert.Equal(t, "length", *chunks[2].Choices[0].FinishReason)
	assert.Nil(t, chunks[2].Choices[0].Delta.Content)
	assert.Empty(t, chunks[3].Choices)
	assert.Equal(t, 2, chunks[3].Usage.Completion)
}

// TestChatRefuses what a chat cannot have, and models without a template.
func TestChatRefuses(t *testing.T) {
	server := chatServer(t, &fake{}, serve.Options{})
	for _, c := range []struct {
		body           string
		code           int
		param, message string
	}{
		{`{"model": "plain", "messages": [{"role": "user", "content": "a"}]}`, 404, "model", "plain has no chat template: it continues texts, at /v1/completions"},
		{`{"model": "tiny"}`, 400, "messages", "want a list of messages"},
		{`{"messages": [{"role": "user", "content": "refuse"}]}`, 400, "messages", "roles must alternate"},
		{`{"messages": [{"role": "user", "content": "a"}], "logprobs": true}`, 400, "logprobs", "want none"},
		{`{"messages": [{"role": "user", "content": "a"}], "prompt": "b"}`, 400, "", "Unrecognized request argument supplied: prompt"},
		{`{"messages": [{"role": "user", "content": "a"}], "max_tokens": 200}`, 400, "max_tokens", "maximum context length"},
	} {
		post(t, server, chats, c.body).refused(t, c.code, c.param, c.message)
	}
}

// TestFailingChatStream: an error after the first chunk is logged with the path of chats.
func TestFailingChatStream(t *testing.T) {
	logged := make(chan string, 1)
	server := chatServer(t, &fake{failing: errors.New("damaged")}, serve.Options{Log: func(m string) { logged <- m }})
	got := post(t, server, chats, `{"messages": [{"role": "user", "content": "ab"}], "max_tokens": 2, "stream": true}`)
	assert.Contains(t, got.Body, "the model failed to generate")
	assert.Regexp(t, `^/v1/chat/completions: request [A-Z2-7]{26}: damaged$`, <-logged)
}
