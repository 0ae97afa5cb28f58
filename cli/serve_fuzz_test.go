package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/generate/chat"
	"github.com/residua-go/residua/internal/fuzztest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/serve"
	"github.com/residua-go/residua/serve/explore"
)

// fuzzedServer returns a server of a tiny model with its explorer.
func fuzzedServer(f *testing.F) *serve.Server {
	c := modeltest.Small(models.Standard())[0].Config
	c.Vocab, c.Seq, c.Layers = 257, 8, 1
	spec, err := c.Resolve()
	require.NoError(f, err)
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(f, err)
	m := &pretrained.Model{Store: modeltest.PerturbedStore(f, spec, tensor.Float32)}
	m.Spec, m.Data.Tokenizer = spec, tokenizer.Name()
	g, err := m.Generator(generate.Options{Threads: 1, Rows: 2})
	require.NoError(f, err)
	f.Cleanup(g.Close)
	e, err := explore.New(m, explore.Options{Name: "tiny", Threads: 1, Time: time.Second})
	require.NoError(f, err)
	f.Cleanup(e.Close)
	s, err := serve.New([]serve.Model{{Name: "tiny", Generator: g, Parallel: 2, Tokenizer: tokenizer, Vocab: spec.Vocab, Window: g.Window()}},
		serve.Options{Page: e.Page(), Handlers: e.Handlers(), Answers: 1 << 20, RequestTime: time.Second})
	require.NoError(f, err)
	return s
}

// answered posts a body and requires an answer that is no failure of the server's.
func answered(t *testing.T, s *serve.Server, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	var w *httptest.ResponseRecorder
	fuzztest.Bounded(t, len(body), func() { w = post(s, path, body) })
	require.True(t, slices.Contains([]int{200, 400, 404, 413, 429, 503}, w.Code), "%s: status %d: %s", body, w.Code, w.Body)
	return w
}

// post returns the answer to a body.
func post(s *serve.Server, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	s.ServeHTTP(w, r)
	return w
}

// FuzzCompletions: any body is answered with texts, events or an error that names what is wrong.
func FuzzCompletions(f *testing.F) {
	for _, body := range []string{
		`{"prompt": "a", "max_tokens": 3, "temperature": 0, "logprobs": 2, "echo": true}`, `{"prompt": [[1, 2], [3]], "n": 2, "seed": 3, "stop": ["a", "\n"]}`,
		`{"prompt": "é", "stream": true, "stream_options": {"include_usage": true}, "logit_bias": {"97": -100}}`, `{"prompt": [300], "top_p": 0}`,
		`{"prompt": "a", "prompt": "b"}`, `[]`, `{"max_tokens": 1e400}`,
	} {
		f.Add(body)
	}
	s := fuzzedServer(f)
	f.Fuzz(func(t *testing.T, body string) {
		w := answered(t, s, "/v1/completions", body)
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			for _, event := range strings.Split(strings.TrimSpace(w.Body.String()), "\n\n") {
				text, ok := strings.CutPrefix(event, "data: ")
				require.True(t, ok && (text == "[DONE]" || json.Valid([]byte(text))), event)
			}
			return
		}
		require.True(t, json.Valid(w.Body.Bytes()), w.Body)
	})
}

// FuzzTokenize: any body is answered, and ids that a text has stand for the text.
func FuzzTokenize(f *testing.F) {
	f.Add(`{"prompt": "func", "add_special_tokens": false}`, "/tokenize")
	f.Add(`{"tokens": [102, 256, 110]}`, "/detokenize")
	f.Add(`{"tokens": [-1, 1e9]}`, "/detokenize")
	s := fuzzedServer(f)
	f.Fuzz(func(t *testing.T, body, path string) {
		if path != "/tokenize" {
			path = "/detokenize"
		}
		w := answered(t, s, path, body)
		require.True(t, json.Valid(w.Body.Bytes()), w.Body)
		var in struct{ Prompt string }
		var out struct{ Tokens []int32 }
		if path != "/tokenize" || w.Code != http.StatusOK || json.Unmarshal([]byte(body), &in) != nil || in.Prompt == "<|endoftext|>" {
			return
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
		tokenizer, _ := data.NewTokenizer("bytes")
		require.Equal(t, in.Prompt, tokenizer.Decode(slices.DeleteFunc(out.Tokens, func(id int32) bool { return id == 256 })))
	})
}

// FuzzExplorer: any body to the explorer's API is answered with lines of JSON.
func FuzzExplorer(f *testing.F) {
	f.Add(`{"prompt": "a", "tokens": 2}`, "/explorer/run")
	f.Add(`{"ids": [1, 2, 3], "tokens": 3, "changes": [{"site": "x", "op": "zero"}]}`, "/explorer/run")
	f.Add(`{"ids": [1, 2]}`, "/explorer/analyses/attribute")
	f.Add(`{"ids": [1, 300]}`, "/explorer/analyses/attribute")
	f.Add(`{"ids": [1, 2], "position": 9}`, "/explorer/analyses/attribute")
	f.Add(`{"ids": [1, 2], "tokens": 1, "changes": [{"name": "embedding.out", "op": "scale", "factor": 2}, {"name": "none", "op": "zero"}]}`, "/explorer/run")
	f.Add(`{"seeds": 1000000, "ids": [1, 2, 3]}`, "/explorer/analyses/rotation")
	s := fuzzedServer(f)
	f.Fuzz(func(t *testing.T, body, path string) {
		if !strings.HasPrefix(path, "/explorer/") || strings.ContainsAny(path, " ?#%\\\x7f") || strings.ContainsFunc(path, func(r rune) bool { return r < 33 || r > 126 }) {
			path = "/explorer/run"
		}
		w := post(s, path, body)
		require.NotEqual(t, http.StatusInternalServerError, w.Code, "%s %s: %s", path, body, w.Body)
	})
}

// FuzzChatTemplate: a chat template, with any messages, gives a text or an error of one line, the
// same each time, and ends in bounded time.
func FuzzChatTemplate(f *testing.F) {
	const folder = "../generate/chat/testdata"
	for _, template := range []string{"chatml", "choice", "dated", "header", "inst", "plain", "turn"} {
		text, err := os.ReadFile(filepath.Join(folder, template+".jinja"))
		require.NoError(f, err)
		f.Add(string(text), []byte(`[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]`), true)
	}
	f.Add("{% for a in range(9) %}\n{{ a.b.c }}\n{% if %}{% endfor %}", []byte(`[]`), false)
	f.Add("{{ messages[0]['content'].split('\n')[1:] | tojson(indent=2) }}", []byte(`[{"content": "a\nb"}]`), false)
	renderer := chat.Renderer{Command: []string{os.Args[0], chat.Word}}
	f.Fuzz(func(t *testing.T, template string, messages []byte, generation bool) {
		request := chat.Request{Template: template, Messages: messages, Generation: generation, Now: time.Unix(0, 0).UTC()}
		text, err := renderer.Render(t.Context(), request)
		fuzztest.OneLine(t, err)
		if err != nil {
			require.Less(t, len(err.Error()), 400)
			return
		}
		require.LessOrEqual(t, len(text), chat.MaxOutput)
		again, err := renderer.Render(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, text, again)
	})
}
