package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/serve"
)

// events reads a stream to its end.
func events(t *testing.T, body string) (parts []completion, last string) {
	t.Helper()
	blocks := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	for i, block := range blocks {
		data, ok := strings.CutPrefix(block, "data: ")
		require.True(t, ok, "%q", block)
		require.NotContains(t, data, "\n")
		if i == len(blocks)-1 {
			return parts, data
		}
		var c completion
		require.True(t, utf8.ValidString(data))
		require.NoError(t, json.Unmarshal([]byte(data), &c), data)
		parts = append(parts, c)
	}
	return parts, ""
}

// TestStream: the parts of each choice, joined, equal the answer without streaming.
func TestStream(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{})
	const request = `"prompt": ["né", "b"], "max_tokens": 5, "echo": true, "logprobs": 2, "n": 2, "seed": 1`
	want := complete(t, server, `{`+request+`}`)
	got := post(t, server, "/v1/completions", `{`+request+`, "stream": true, "stream_options": {"include_usage": true}}`)
	assert.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
	parts, last := events(t, got.Body)
	assert.Equal(t, "[DONE]", last)
	texts, probs := make([]string, 4), make([]logProbs, 4)
	for i, p := range parts {
		if i == len(parts)-1 {
			assert.Empty(t, p.Choices)
			assert.Equal(t, want.Usage, p.Usage)
			continue
		}
		require.Len(t, p.Choices, 1)
		assert.Equal(t, parts[0].ID, p.ID)
		assert.Nil(t, p.Usage)
		c := p.Choices[0]
		require.NotNil(t, c.LogProbs)
		texts[c.Index] += c.Text
		l := &probs[c.Index]
		l.Tokens = append(l.Tokens, c.LogProbs.Tokens...)
		l.TokenLogProbs = append(l.TokenLogProbs, c.LogProbs.TokenLogProbs...)
		l.TopLogProbs = append(l.TopLogProbs, c.LogProbs.TopLogProbs...)
		l.TextOffset = append(l.TextOffset, c.LogProbs.TextOffset...)
		if c.FinishReason != nil {
			assert.Equal(t, "length", *c.FinishReason)
			assert.Empty(t, c.Text)
		}
	}
	for i, c := range want.Choices {
		assert.Equal(t, c.Text, texts[i])
		assert.Equal(t, *c.LogProbs, probs[i])
	}
}

// TestStreamComesAtOnce: a part arrives before the next token is generated.
func TestStreamComesAtOnce(t *testing.T) {
	f := &fake{step: make(chan struct{})}
	server := newServer(t, f, serve.Options{})
	connection, reader := begin(t, server, `{"prompt": "a", "max_tokens": 2, "stream": true}`)
	defer connection.Close()
	f.step <- struct{}{}
	connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	for line := ""; !strings.Contains(line, `"text":"a"`); {
		var err error
		line, err = reader.ReadString('\n')
		require.NoError(t, err)
	}
	close(f.step)
}

// TestStreamThatFails: an error before the first part is reported by the status, a later one by an
// event.
func TestStreamThatFails(t *testing.T) {
	server := newServer(t, &fake{failing: errors.New("broken")}, serve.Options{})
	parts, last := events(t, post(t, server, "/v1/completions", `{"prompt": "a", "stream": true}`).Body)
	assert.Len(t, parts, 1)
	var e apiError
	require.NoError(t, json.Unmarshal([]byte(last), &e))
	assert.Contains(t, e.Error.Message, "the model failed")
	post(t, newServer(t, &fake{panics: true}, serve.Options{}), "/v1/completions", `{"prompt": "a", "stream": true}`).refused(t, http.StatusInternalServerError, "", "the model failed")
	post(t, server, "/v1/completions", `{"prompt": "a", "stream": true, "n": 0}`).refused(t, http.StatusBadRequest, "n", "want >= 1, got 0")
}

// settled waits until there are no more goroutines than before.
func settled(t *testing.T, before int) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			all := make([]byte, 1<<16)
			require.FailNow(t, "goroutines are left", "%d, %d before: %s", runtime.NumGoroutine(), before, all[:runtime.Stack(all, true)])
		}
	}
}

// working waits until the model is working on n texts.
func (f *fake) working(t *testing.T, n int) {
	t.Helper()
	assert.Eventually(t, func() bool {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return f.active == n
	}, 10*time.Second, time.Millisecond)
}

// begin sends a streaming request on a connection of its own, and lets the test read as much as it
// wants.
func begin(t *testing.T, server *httptest.Server, body string) (net.Conn, *bufio.Reader) {
	t.Helper()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	connection.(*net.TCPConn).SetReadBuffer(4 << 10)
	request, err := http.NewRequest(http.MethodPost, server.URL+"/v1/completions", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, request.Write(connection))
	return connection, bufio.NewReader(connection)
}

func TestConcurrentClients(t *testing.T) {
	f := &fake{pause: time.Millisecond}
	server := newServer(t, f, serve.Options{Requests: 64})
	before := runtime.NumGoroutine()
	var wait sync.WaitGroup
	for i := range 64 {
		wait.Go(func() {
			letter := string(rune('a' + i%26))
			body := `{"prompt": "` + letter + `", "max_tokens": 20, "n": 2`
			want := strings.Repeat(letter, 20)
			if i%2 == 0 {
				c := complete(t, server, body+`}`)
				assert.Equal(t, want, c.Choices[0].Text)
				assert.Equal(t, want, c.Choices[1].Text)
				return
			}
			text := ""
			parts, last := events(t, post(t, server, "/v1/completions", body+`, "stream": true}`).Body)
			for _, p := range parts {
				if p.Choices[0].Index == 1 {
					text += p.Choices[0].Text
				}
			}
			assert.Equal(t, want, text)
			assert.Equal(t, "[DONE]", last)
		})
	}
	wait.Wait()
	assert.Greater(t, f.most, 16, "texts are generated at the same time")
	server.Client().CloseIdleConnections()
	settled(t, before)
}

// TestDisconnects: when a client goes, its request ends, whether it is waiting, streaming or still
// being sent.
func TestDisconnects(t *testing.T) {
	f := &fake{pause: time.Millisecond}
	server := newServer(t, f, serve.Options{}, func(m *serve.Model) { m.Slide = true })
	before := runtime.NumGoroutine()
	for i, body := range []string{`{"prompt": "a", "max_tokens": 1000000}`, `{"prompt": "a", "max_tokens": 1000000, "stream": true, "n": 8}`} {
		connection, _ := begin(t, server, body)
		f.working(t, i*3+1)
		connection.Close()
		f.working(t, 0)
	}
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	connection.Write([]byte("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"prom"))
	connection.Close()
	server.Client().CloseIdleConnections()
	settled(t, before)
	assert.Contains(t, get(t, server, "/metrics").Body, `residua_requests_total{path="/v1/completions",code="499"}`)
}

// TestSlowReaders: the server gives up clients that never read, and they delay nobody in the
// meantime.
func TestSlowReaders(t *testing.T) {
	f := &fake{piece: strings.Repeat("slow ", 2000)}
	server := newServer(t, f, serve.Options{WriteTime: 300 * time.Millisecond}, func(m *serve.Model) { m.Slide = true })
	before := runtime.NumGoroutine()
	for range 8 {
		connection, _ := begin(t, server, `{"prompt": "a", "max_tokens": 100000000, "stream": true}`)
		defer connection.Close()
	}
	assert.Equal(t, 2, complete(t, server, `{"prompt": "a", "max_tokens": 2}`).Usage.Completion)
	f.working(t, 0)
	assert.Len(t, f.asked, 9)
	server.Client().CloseIdleConnections()
	settled(t, before)
}

// TestQueue: requests beyond the limit are told to come again.
func TestQueue(t *testing.T) {
	f := &fake{step: make(chan struct{})}
	server := newServer(t, f, serve.Options{Requests: 2})
	done := make(chan int, 2)
	for range 2 {
		go func() { done <- complete(t, server, `{"prompt": "a", "max_tokens": 1}`).Usage.Completion }()
	}
	f.working(t, 2)
	full := post(t, server, "/v1/completions", `{"prompt": "a"}`)
	full.refused(t, http.StatusTooManyRequests, "", "too many requests")
	assert.Equal(t, "1", full.Header.Get("Retry-After"))
	assert.Contains(t, get(t, server, "/metrics").Body, "residua_completions_running 2\n")
	close(f.step)
	assert.Equal(t, 1, <-done)
	assert.Equal(t, 1, <-done)
	assert.Equal(t, 1, complete(t, server, `{"prompt": "a", "max_tokens": 1}`).Usage.Completion)
}

func TestRequestTime(t *testing.T) {
	f := &fake{step: make(chan struct{})}
	server := newServer(t, f, serve.Options{RequestTime: 50 * time.Millisecond})
	for _, stream := range []string{"", `, "stream": true`} {
		late := post(t, server, "/v1/completions", `{"prompt": "a"`+stream+`}`)
		late.refused(t, http.StatusServiceUnavailable, "", "not ready within the time")
	}
}

// TestReadTime: a client that does not finish its request loses its connection.
func TestReadTime(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{ReadTime: 100 * time.Millisecond})
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer connection.Close()
	connection.Write([]byte("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"prom"))
	connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	read(t, response).refused(t, http.StatusRequestTimeout, "", "could not be read")
}

// TestLongAnswerAfterRead: the time for reading a request does not end the answer.
func TestLongAnswerAfterRead(t *testing.T) {
	server := newServer(t, &fake{pause: 20 * time.Millisecond}, serve.Options{ReadTime: 50 * time.Millisecond})
	assert.Equal(t, 10, complete(t, server, `{"prompt": "a", "max_tokens": 10}`).Usage.Completion)
}

// listen serves until stop is called, which returns Serve's error.
func listen(t *testing.T, f *fake, o serve.Options) (url string, stop func() error) {
	s, err := serve.New([]serve.Model{{Name: "tiny", Generator: f, Tokenizer: bytesTokenizer(), Vocab: 257, Window: window}}, o)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(cancel)
	return "http://" + l.Addr().String(), func() error { cancel(); return <-done }
}

// TestGracefulStop: a stop accepts nothing new and lets running requests finish.
func TestGracefulStop(t *testing.T) {
	before := runtime.NumGoroutine()
	f := &fake{step: make(chan struct{})}
	url, stop := listen(t, f, serve.Options{})
	got := make(chan answer, 1)
	go func() {
		response, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "a", "max_tokens": 2}`))
		if assert.NoError(t, err) {
			got <- read(t, response)
		}
	}()
	f.step <- struct{}{}
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	assert.Eventually(t, func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err == nil {
			_ = c.Close() // the server waits 5 s for connections without a request
		}
		return err != nil
	}, 5*time.Second, time.Millisecond)
	f.step <- struct{}{}
	answer := <-got
	assert.Equal(t, http.StatusOK, answer.Code)
	assert.Contains(t, answer.Body, `"text":"aa"`)
	assert.NoError(t, <-stopped)
	settled(t, before)
}

// TestStopWithinItsTime: requests that do not finish in time are ended and told so.
func TestStopWithinItsTime(t *testing.T) {
	f := &fake{step: make(chan struct{})}
	url, stop := listen(t, f, serve.Options{StopTime: 50 * time.Millisecond})
	got := make(chan answer, 1)
	go func() {
		response, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "a", "max_tokens": 2}`))
		if assert.NoError(t, err) {
			got <- read(t, response)
		}
	}()
	f.step <- struct{}{}
	assert.ErrorContains(t, stop(), "with 1 requests unfinished")
	(<-got).refused(t, http.StatusServiceUnavailable, "", "the server was stopped")
}
