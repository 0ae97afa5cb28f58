package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/serve"
)

// fake is a model that continues a prompt by repeating its last byte, and records what it was asked
// for.
type fake struct {
	mutex   sync.Mutex
	asked   []generate.Request
	active  int
	most    int           // that were active at once
	step    chan struct{} // nil, or what each token waits for
	pause   time.Duration // before each token
	piece   string        // text of each token, instead of its last byte
	failing error         // after the first token
	panics  bool
}

func (f *fake) Generate(ctx context.Context, r generate.Request, emit func(generate.Piece) error) (generate.Result, error) {
	f.mutex.Lock()
	f.asked = append(f.asked, r)
	f.active++
	f.most = max(f.most, f.active)
	f.mutex.Unlock()
	defer func() {
		f.mutex.Lock()
		f.active--
		f.mutex.Unlock()
	}()
	if f.panics {
		panic("out of its mind")
	}
	result := generate.Result{PromptIDs: r.IDs, PromptTokens: len(r.IDs), Stop: generate.StopError}
	if err := f.prompt(r, emit); err != nil {
		return result, err
	}
	for range r.Tokens {
		if err := f.wait(ctx); err != nil {
			return result, err
		}
		if f.failing != nil && result.Tokens == 1 {
			return result, f.failing
		}
		id := r.IDs[len(r.IDs)-1]
		text := f.piece
		if text == "" {
			text = string(id)
		}
		result.Tokens++
		result.IDs = append(result.IDs, id)
		if slices.Contains(r.Stop, text) {
			result.Stop = generate.StopString
			return result, emit(generate.Piece{Tokens: []generate.Token{token(id, text, r)}})
		}
		if err := emit(generate.Piece{Text: text, Tokens: []generate.Token{token(id, text, r)}}); err != nil {
			return result, err
		}
	}
	result.Stop = generate.StopTokens
	return result, nil
}

func (f *fake) prompt(r generate.Request, emit func(generate.Piece) error) error {
	if !r.Echo {
		return nil
	}
	tokenizer := bytesTokenizer()
	p := generate.Piece{Text: tokenizer.Decode(r.IDs)}
	if r.PromptLogProbs {
		for _, id := range r.IDs {
			p.Tokens = append(p.Tokens, token(id, tokenizer.Decode([]int32{id}), r))
		}
	}
	return emit(p)
}

func (f *fake) wait(ctx context.Context) error {
	if f.step != nil {
		select {
		case <-f.step:
		case <-ctx.Done():
		}
	}
	if f.pause > 0 {
		select {
		case <-time.After(f.pause):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// token returns a token with a log probability that depends on its id.
func token(id int32, text string, r generate.Request) generate.Token {
	t := generate.Token{ID: id, Text: text}
	if r.LogProbs > 0 {
		t.LogProb = -float64(id) / 1000
		t.Top = []generate.Token{{ID: 'x', Text: "x", LogProb: -0.01}}
	}
	return t
}

func bytesTokenizer() data.Tokenizer {
	t, err := data.NewTokenizer("bytes")
	if err != nil {
		panic(err)
	}
	return t
}

// window is the number of tokens that the fake model sees.
const window = 100

func newServer(t *testing.T, g serve.Generator, o serve.Options, change ...func(*serve.Model)) *httptest.Server {
	m := serve.Model{Name: "tiny", Generator: g, Tokenizer: bytesTokenizer(), Vocab: 257, Window: window, Parallel: 4, Created: time.Unix(1700000000, 0)}
	for _, c := range change {
		c(&m)
	}
	s, err := serve.New([]serve.Model{m}, o)
	require.NoError(t, err)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server
}

// answer is the answer to a request.
type answer struct {
	Code   int
	Header http.Header
	Body   string
}

func post(t *testing.T, server *httptest.Server, path, body string) answer {
	t.Helper()
	response, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	return read(t, response)
}

func get(t *testing.T, server *httptest.Server, path string) answer {
	t.Helper()
	response, err := server.Client().Get(server.URL + path)
	require.NoError(t, err)
	return read(t, response)
}

func read(t *testing.T, response *http.Response) answer {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(body)}
}

// completion is a decoded answer of /v1/completions.
type completion struct {
	ID, Object, Model string
	Created           int64
	Choices           []struct {
		Index        int
		Text         string
		LogProbs     *logProbs `json:"logprobs"`
		FinishReason *string   `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
}

type logProbs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogProbs []*float64           `json:"token_logprobs"`
	TopLogProbs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"`
}

// complete asks for a completion that must succeed.
func complete(t *testing.T, server *httptest.Server, body string) completion {
	t.Helper()
	got := post(t, server, "/v1/completions", body)
	require.Equal(t, http.StatusOK, got.Code, got.Body)
	assert.Equal(t, "application/json", got.Header.Get("Content-Type"))
	var c completion
	require.NoError(t, json.Unmarshal([]byte(got.Body), &c))
	return c
}

// apiError is a decoded error.
type apiError struct {
	Error struct {
		Message, Type string
		Param, Code   *string
	}
}

func (a answer) refused(t *testing.T, code int, param, message string) {
	t.Helper()
	assert.Equal(t, code, a.Code, a.Body)
	assert.Equal(t, "application/json", a.Header.Get("Content-Type"))
	var e apiError
	require.NoError(t, json.Unmarshal([]byte(a.Body), &e), a.Body)
	assert.Contains(t, e.Error.Message, message)
	assert.NotEmpty(t, e.Error.Type)
	got := ""
	if e.Error.Param != nil {
		got = *e.Error.Param
	}
	assert.Equal(t, param, got, a.Body)
	for _, key := range []string{"message", "type", "param", "code"} {
		assert.Contains(t, a.Body, fmt.Sprintf("%q:", key))
	}
}
