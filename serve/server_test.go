package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/serve"
)

func TestModels(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{}, func(m *serve.Model) { m.Name = "org/tiny" })
	const card = `{"id":"org/tiny","object":"model","created":1700000000,"owned_by":"residua","max_model_len":100}`
	assert.JSONEq(t, `{"object": "list", "data": [`+card+`]}`, get(t, server, "/v1/models").Body)
	assert.JSONEq(t, card, get(t, server, "/v1/models/org/tiny").Body)
}

func TestTokenize(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{})
	assert.JSONEq(t, `{"count": 3, "max_model_len": 100, "tokens": [256, 97, 98]}`, post(t, server, "/tokenize", `{"prompt": "ab"}`).Body)
	assert.JSONEq(t, `{"count": 2, "max_model_len": 100, "tokens": [97, 98]}`, post(t, server, "/tokenize", `{"prompt": "ab", "add_special_tokens": false}`).Body)
	assert.JSONEq(t, `{"count": 1, "max_model_len": 100, "tokens": [256]}`, post(t, server, "/tokenize", `{"prompt": "<|endoftext|>", "add_special_tokens": false}`).Body)
	assert.JSONEq(t, `{"prompt": "né"}`, post(t, server, "/detokenize", `{"tokens": [256, 110, 195, 169]}`).Body)
	assert.Contains(t, get(t, server, "/tokenizer_info").Body, `"eos_token":"\u003c|endoftext|\u003e"`)
}

// TestTokensOfAnImportedModel: the token that ends a text is not BOS, which the tokenizer does not
// add.
func TestTokensOfAnImportedModel(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "testdata", "reference", "tokenizer", "llama3", "tokenizer.json"))
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "tokenizer.json")
	more := strings.Replace(string(text), `"added_tokens":[`, `"added_tokens":[{"id":600,"content":"<|end|>","special":true},`, 1)
	require.NoError(t, os.WriteFile(path, []byte(more), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"bos_token_id": 0, "eos_token_id": 600}`), 0o600))
	tokenizer, err := data.NewTokenizer(path)
	require.NoError(t, err)
	server := newServer(t, &fake{}, serve.Options{}, func(m *serve.Model) { m.Tokenizer, m.Vocab = tokenizer, 601 })
	var info map[string]any
	require.NoError(t, json.Unmarshal([]byte(get(t, server, "/tokenizer_info").Body), &info))
	assert.Equal(t, []any{"<|endoftext|>", 0., "<|end|>", 600.}, []any{info["bos_token"], info["bos_token_id"], info["eos_token"], info["eos_token_id"]})
	for body, want := range map[string]string{
		`{"prompt": "<|end|>"}`:                             `[600]`,
		`{"prompt": "<|end|>", "add_special_tokens": true}`: `[0, 600]`,
		`{"prompt": "<|endoftext|>"}`:                       `[0]`,
		`{"prompt": "!"}`:                                   `[1]`,
		`{"prompt": "!", "add_special_tokens": true}`:       `[0, 1]`,
	} {
		var got struct{ Tokens []int32 }
		require.NoError(t, json.Unmarshal([]byte(post(t, server, "/tokenize", body).Body), &got))
		ids, err := json.Marshal(got.Tokens)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(ids), body)
	}
}

func TestMetrics(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{})
	complete(t, server, `{"prompt": "ab", "max_tokens": 5}`)
	post(t, server, "/v1/completions", `{}}`)
	got := get(t, server, "/metrics")
	assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8", got.Header.Get("Content-Type"))
	for _, line := range []string{
		`residua_requests_total{path="/v1/completions",code="200"} 1`,
		`residua_requests_total{path="/v1/completions",code="400"} 1`,
		"# TYPE residua_completion_seconds histogram",
		`residua_completion_seconds_bucket{le="+Inf"} 1`,
		"residua_first_piece_seconds_count 1",
		"residua_prompt_tokens_total 3",
		"residua_generation_tokens_total 5",
		"residua_completions_running 0",
		"residua_completions_limit 128",
	} {
		assert.Contains(t, got.Body, line+"\n")
	}
	for _, line := range strings.Split(strings.TrimSpace(got.Body), "\n") {
		assert.Regexp(t, `^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)$`, line)
	}
}

func TestPage(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{}, func(m *serve.Model) { m.Name = "<tiny>" })
	got := get(t, server, "/")
	assert.Equal(t, "text/html; charset=utf-8", got.Header.Get("Content-Type"))
	assert.Contains(t, got.Body, "&lt;tiny&gt;")
	assert.Equal(t, "ok\n", get(t, server, "/healthz").Body)

	text := func(s string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) })
	}
	own := newServer(t, &fake{}, serve.Options{Page: text("page"), Handlers: map[string]http.Handler{"/explore/": text("explorer")}})
	assert.Equal(t, "page", get(t, own, "/").Body)
	assert.Equal(t, "explorer", get(t, own, "/explore/x").Body)
	assert.Equal(t, http.StatusNotFound, get(t, own, "/elsewhere").Code)
}
