package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/serve"
)

// TestAnswersAtOnce: answers are admitted by their tokens and alternatives, before they are
// computed.
func TestAnswersAtOnce(t *testing.T) {
	f := &fake{step: make(chan struct{})}
	server := newServer(t, f, serve.Options{Answers: 4 << 16}, func(m *serve.Model) { m.Slide, m.Parallel = true, 1000 })
	many := strings.TrimSuffix(strings.Repeat(`"abc",`, 100), ",")
	for _, body := range []string{
		`{"prompt": "a", "max_tokens": 2000}`,
		`{"prompt": "a", "max_tokens": 9223372036854775807}`,
		`{"prompt": "a", "max_tokens": 20, "n": 100}`,
		`{"prompt": [` + many + `], "max_tokens": 20}`,
		`{"prompt": [` + many + `], "max_tokens": 0, "echo": true, "logprobs": 1}`,
		`{"prompt": "a", "max_tokens": 100, "logprobs": 5}`,
		`{"prompt": "` + strings.Repeat("a", 5000) + `", "max_tokens": 1}`,
		`{"prompt": "` + strings.Repeat("a", 1000) + `", "max_tokens": 1, "echo": true, "stream": true}`,
	} {
		post(t, server, "/v1/completions", body).refused(t, http.StatusBadRequest, "", "want an answer of at most 65536 bytes of memory")
	}
	post(t, server, "/tokenize", `{"prompt": "`+strings.Repeat("a", 5000)+`"}`).refused(t, http.StatusBadRequest, "", "want an answer of at most 65536 bytes")
	post(t, server, "/detokenize", `{"tokens": [`+strings.Repeat("1,", 5000)+`1]}`).refused(t, http.StatusBadRequest, "", "want an answer of at most 65536 bytes")

	const large = `{"prompt": "a", "max_tokens": 40, "logprobs": 5}`
	codes := make(chan int, 4)
	for range 4 {
		go func() { codes <- post(t, server, "/v1/completions", large).Code }()
	}
	f.working(t, 4)
	post(t, server, "/v1/completions", large).refused(t, http.StatusTooManyRequests, "", "too many requests")
	close(f.step)
	for range 4 {
		assert.Equal(t, http.StatusOK, <-codes)
	}
	assert.Equal(t, 40, complete(t, server, large).Usage.Completion)
}

// talker answers with log probabilities whose alternatives are all different.
type talker struct{}

func (talker) Generate(_ context.Context, r generate.Request, emit func(generate.Piece) error) (generate.Result, error) {
	next := byte(0)
	token := func() generate.Token {
		next++
		return generate.Token{ID: int32(next), Text: string([]byte{0x80 | next}), LogProb: -1.2345678901234567 - float64(next)}
	}
	tokens := r.Tokens
	if r.PromptLogProbs {
		tokens += len(r.IDs)
	}
	for range tokens {
		t := token()
		for range r.LogProbs {
			t.Top = append(t.Top, token())
		}
		if err := emit(generate.Piece{Text: "\u0001", Tokens: []generate.Token{t}}); err != nil {
			return generate.Result{}, err
		}
	}
	return generate.Result{Tokens: r.Tokens, Stop: generate.StopTokens}, nil
}

// weighing measures the memory in use when an answer is written.
type weighing struct {
	header http.Header
	code   int
	heap   uint64
}

func (w *weighing) Header() http.Header  { return w.header }
func (w *weighing) WriteHeader(code int) { w.code = code }
func (w *weighing) Write(p []byte) (int, error) {
	w.heap = max(w.heap, heap())
	return len(p), nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryOfAnswers: the largest answers that are admitted take no more memory than they may.
func TestMemoryOfAnswers(t *testing.T) {
	const most = 16 << 20 // of one answer
	s, err := serve.New([]serve.Model{{Name: "tiny", Generator: talker{}, Tokenizer: bytesTokenizer(), Vocab: 257, Window: 1 << 30, Created: time.Unix(0, 0)}}, serve.Options{Answers: 4 * most})
	require.NoError(t, err)
	for _, form := range []string{
		`{"prompt": "a", "logprobs": 5, "max_tokens": %d}`,
		`{"prompt": "a", "logprobs": 0, "max_tokens": %d}`,
		`{"prompt": "a", "max_tokens": %d}`,
		`{"prompt": "a", "n": 8, "logprobs": 1, "max_tokens": %d}`,
	} {
		admitted, used := 0, uint64(0)
		for tokens := 64; ; tokens = tokens * 3 / 2 {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/completions", strings.NewReader(fmt.Sprintf(form, tokens)))
			w := &weighing{header: http.Header{}, code: http.StatusOK}
			before := heap()
			s.ServeHTTP(w, r)
			if w.code == http.StatusBadRequest {
				break
			}
			require.Equal(t, http.StatusOK, w.code)
			admitted, used = tokens, w.heap-min(before, w.heap)
		}
		t.Logf("%s: up to %d tokens, %d bytes", form, admitted, used)
		assert.Positive(t, used)
		assert.LessOrEqual(t, used, uint64(most), form)
	}
}
