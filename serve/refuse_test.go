package serve_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/serve"
)

func TestRefusedRequests(t *testing.T) {
	f := &fake{}
	server := newServer(t, f, serve.Options{})
	for _, c := range []struct {
		body           string
		param, message string
	}{
		{``, "", "want a JSON object"},
		{`[]`, "", "want a JSON object, got an array"},
		{`{"prompt": "a"`, "", "want a JSON object"},
		{`{"prompt": "a"} {}`, "", "got more after it"},
		{"{\"prompt\": \"a\xff\"}", "", "want a body in UTF-8"},
		{`{"prompt": "a", "promt": 1}`, "", "Unrecognized request argument supplied: promt"},
		{`{"prompt": 3}`, "prompt", "want a string, an array of strings"},
		{`{"prompt": {}}`, "prompt", "want a string, an array of strings"},
		{`{"prompt": []}`, "prompt", "want a string, an array of strings"},
		{`{"prompt": [[]]}`, "prompt", "an empty array"},
		{`{"prompt": ["a", 1]}`, "prompt", "want a string, an array of strings"},
		{`{"prompt": ["a", null]}`, "prompt", "null"},
		{`{"prompt": [1, "a"]}`, "prompt", "something else than integers"},
		{`{"prompt": [1, null]}`, "prompt", "something else than integers"},
		{`{"prompt": [1.5]}`, "prompt", "something else than integers"},
		{`{"prompt": [99999999999]}`, "prompt", "something else than integers"},
		{`{"prompt": [[1], 2]}`, "prompt", "something else than integers"},
		{`{"prompt": [1, 257]}`, "prompt", "token 1: want an id of 0 to 256, got 257"},
		{`{"prompt": [-1]}`, "prompt", "want an id of 0 to 256, got -1"},
		{`{"prompt": "a", "max_tokens": -1}`, "max_tokens", "want >= 0, got -1"},
		{`{"prompt": "a", "max_tokens": "3"}`, "max_tokens", "want an integer, got string"},
		{`{"prompt": "a", "max_tokens": 1.5}`, "max_tokens", "integer"},
		{`{"prompt": "a", "n": 0}`, "n", "want >= 1, got 0"},
		{`{"prompt": "a", "n": 1000000000}`, "n", "want <= 128, got 1000000000"},
		{`{"prompt": ["` + strings.Repeat(`","`, 2000) + `"], "n": 2}`, "prompt", "want at most 2048 texts"},
		{`{"prompt": "a", "best_of": 3}`, "best_of", "want none, or n"},
		{`{"prompt": "a", "temperature": -1}`, "temperature", "want >= 0"},
		{`{"prompt": "a", "temperature": 1e999}`, "temperature", "number"},
		{`{"prompt": "a", "temperature": "hot"}`, "temperature", "want a number, got string"},
		{`{"prompt": "a", "top_p": 0}`, "top_p", "want above 0 and at most 1"},
		{`{"prompt": "a", "top_p": 1.01}`, "top_p", "want above 0 and at most 1"},
		{`{"prompt": "a", "top_k": -2}`, "top_k", "want >= -1, got -2"},
		{`{"prompt": "a", "min_p": 2}`, "min_p", "want >= 0"},
		{`{"prompt": "a", "repetition_penalty": 0}`, "repetition_penalty", "want above 0"},
		{`{"prompt": "a", "logprobs": 6}`, "logprobs", "want <= 5, got 6"},
		{`{"prompt": "a", "logprobs": true}`, "logprobs", "integer"},
		{`{"prompt": "a", "logit_bias": {"x": 1}}`, "logit_bias", `want token ids of 0 to 256 as keys, got "x"`},
		{`{"prompt": "a", "logit_bias": {"1": 1, "01": 2}}`, "logit_bias", `got "01"`},
		{`{"prompt": "a", "logit_bias": {"+1": 1}}`, "logit_bias", `got "+1"`},
		{`{"prompt": ["a"], "prompt": [[1]]}`, "prompt", "given twice"},
		{`{"prompt": ["a"], "Prompt": [[1]]}`, "", "Unrecognized request argument supplied: Prompt: unknown key; did you mean prompt?"},
		{`{"prompt": "a", "stream_options": {"include_usage": true, "include_usage": false}}`, "stream_options.include_usage", "given twice"},
		{`null`, "", "want a JSON object, got null"},
		{`{"prompt": [` + strings.Repeat("1,", 4000) + `1]}`, "prompt", "want at most 100 token ids"},
		{`{"prompt": [[1],[` + strings.Repeat("1,", 4000) + `1]]}`, "prompt", "want at most 100 token ids"},
		{`{"prompt": "a", "logit_bias": {"257": 1}}`, "logit_bias", `got "257"`},
		{`{"prompt": "a", "logit_bias": {"1": 101}}`, "logit_bias", "token 1: want -100 to 100, got 101"},
		{`{"prompt": "a", "stop": ""}`, "stop", "want a string, got an empty one"},
		{`{"prompt": "a", "stop": [1]}`, "stop", "want a string or an array of strings"},
		{`{"prompt": "a", "stop": [null]}`, "stop", "null"},
		{`{"prompt": "a", "stop": ["` + strings.Repeat(`x","`, 16) + `x"]}`, "stop", "want at most 16 strings, got 17"},
		{`{"prompt": "a", "suffix": "b"}`, "suffix", "want none"},
		{`{"prompt": "a", "presence_penalty": 1}`, "presence_penalty", "want 0"},
		{`{"prompt": "a", "frequency_penalty": 1}`, "frequency_penalty", "want 0"},
		{`{"prompt": "a", "stream": "yes"}`, "stream", "want true or false, got string"},
		{`{"prompt": "a", "stream_options": {"include_usage": 1}}`, "stream_options.include_usage", "true or false"},
		{`{"prompt": "a", "seed": 1.5}`, "seed", "integer"},
	} {
		post(t, server, "/v1/completions", c.body).refused(t, http.StatusBadRequest, c.param, c.message)
	}
	assert.Empty(t, f.asked, "the model was asked for nothing")
	unknown := post(t, server, "/v1/completions", `{"model": "gpt-5", "prompt": "a"}`)
	unknown.refused(t, http.StatusNotFound, "model", `want one of tiny, got "gpt-5"`)
	assert.Contains(t, unknown.Body, `"code":"model_not_found"`)
	assert.Equal(t, "a", complete(t, server, `{"prompt": "a", "max_tokens": 1}`).Choices[0].Text, "it keeps serving")
}

func TestRefusedPaths(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{})
	get(t, server, "/v1/completions").refused(t, http.StatusMethodNotAllowed, "", "want POST /v1/completions, got GET")
	assert.Equal(t, "POST", get(t, server, "/v1/completions").Header.Get("Allow"))
	post(t, server, "/v1/edits", `{}`).refused(t, http.StatusNotFound, "", "nothing is at /v1/edits")
	get(t, server, "/v1/models/other").refused(t, http.StatusNotFound, "model", `want one of tiny, got "other"`)
	post(t, server, "/detokenize", `{"tokens": [300]}`).refused(t, http.StatusBadRequest, "tokens", "want an id of 0 to 256, got 300")
	post(t, server, "/tokenize", `{"prompt": 1}`).refused(t, http.StatusBadRequest, "prompt", "string")
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("a"), len(p))), nil }

// TestLargeBodies: bodies of 100 MB are refused, whether the client announces their length or not.
func TestLargeBodies(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{Body: 1 << 20})
	const length = 100 << 20
	for _, known := range []bool{true, false} {
		request, err := http.NewRequest(http.MethodPost, server.URL+"/v1/completions", io.LimitReader(io.MultiReader(strings.NewReader(`{"prompt": "`), zeros{}), length))
		require.NoError(t, err)
		if known {
			request.ContentLength = length
			request.Header.Set("Expect", "100-continue")
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil && !known {
			continue // the connection was closed while the body was under way
		}
		require.NoError(t, err)
		read(t, response).refused(t, http.StatusRequestEntityTooLarge, "", "want a body of at most 1048576 bytes, got more")
	}
	assert.Equal(t, 16, complete(t, server, `{"prompt": "a"}`).Usage.Completion)
}

func TestToken(t *testing.T) {
	own := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "mine") })
	server := newServer(t, &fake{}, serve.Options{Token: "secret", Handlers: map[string]http.Handler{"/mine": own}})
	ask := func(path, authorization string) int {
		request, err := http.NewRequest(http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		return read(t, response).Code
	}
	for _, path := range []string{"/v1/models", "/metrics", "/tokenizer_info", "/mine"} {
		assert.Equal(t, http.StatusOK, ask(path, "Bearer secret"), path)
		for _, wrong := range []string{"", "secret", "Bearer", "Bearer ", "Bearer secrets", "Basic secret"} {
			assert.Equal(t, http.StatusUnauthorized, ask(path, wrong), "%s %q", path, wrong)
		}
	}
	assert.Equal(t, http.StatusOK, ask("/healthz", ""))
	assert.Equal(t, http.StatusOK, ask("/", ""))
	post(t, server, "/v1/completions", `{"prompt": "a"}`).refused(t, http.StatusUnauthorized, "", "want the header Authorization: Bearer TOKEN")
}

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	f := &fake{}
	server := newServer(t, f, serve.Options{})
	request, err := http.NewRequest(http.MethodPost, server.URL+"/v1/completions", strings.NewReader(`{"prompt": "a"}`))
	require.NoError(t, err)
	request.Header.Set("Origin", "https://elsewhere.example")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	read(t, response).refused(t, http.StatusForbidden, "", "a page of another site")
	assert.Empty(t, f.asked)
}

// TestFailingModel: an error that is not the client's mistake gives status 500 without details, and
// is logged.
func TestFailingModel(t *testing.T) {
	logged := make(chan string, 4)
	o := serve.Options{Log: func(m string) { logged <- m }}
	failing := newServer(t, &fake{failing: errors.New("/home/someone/secret: damaged")}, o)
	got := post(t, failing, "/v1/completions", `{"prompt": "a"}`)
	got.refused(t, http.StatusInternalServerError, "", "the model failed to generate")
	assert.NotContains(t, got.Body, "/home")
	assert.Contains(t, <-logged, "/home/someone/secret: damaged")

	mad := newServer(t, &fake{panics: true}, o)
	post(t, mad, "/v1/completions", `{"prompt": "a"}`).refused(t, http.StatusInternalServerError, "", "the model failed")
	assert.Contains(t, <-logged, "out of its mind")
	assert.Equal(t, http.StatusOK, get(t, mad, "/healthz").Code)
}

func TestNewRefuses(t *testing.T) {
	whole := serve.Model{Name: "a", Generator: &fake{}, Vocab: 1, Window: 1}
	for _, models := range [][]serve.Model{nil, {{}}, {{Name: "a"}}, {whole, whole}} {
		_, err := serve.New(models, serve.Options{})
		assert.Error(t, err)
	}
	_, err := serve.New([]serve.Model{whole}, serve.Options{})
	assert.NoError(t, err)
}
