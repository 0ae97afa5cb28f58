package serve_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/serve"
)

// slow is a body that arrives when the test lets it.
type slow struct {
	text io.Reader
	let  chan struct{}
}

func (s *slow) Read(p []byte) (int, error) {
	<-s.let
	return s.text.Read(p)
}

// TestBodiesAtOnce: if many large bodies arrive at once, most are refused before they are read, and
// the room that the others took is free again afterwards.
func TestBodiesAtOnce(t *testing.T) {
	const most = 1 << 16
	server := newServer(t, &fake{}, serve.Options{Body: most, ReadTime: 10 * time.Second})
	let := make(chan struct{})
	ask := func(length int64) int {
		text := `{"prompt": "a", "user": "` + strings.Repeat("x", most-100) + `"}`
		request, err := http.NewRequest(http.MethodPost, server.URL+"/v1/completions", io.NopCloser(&slow{strings.NewReader(text), let}))
		require.NoError(t, err)
		if length >= 0 {
			request.ContentLength = int64(len(text))
		}
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			return 0 // refused while the body was under way
		}
		return read(t, response).Code
	}
	for _, length := range []int64{0, -1} { // known, unknown
		codes := make(chan int, 64)
		var group sync.WaitGroup
		for range 64 {
			group.Go(func() { codes <- ask(length) })
		}
		refused := 0
		for refused < 56 { // before any body is read
			code := <-codes
			assert.Contains(t, []int{http.StatusTooManyRequests, 0}, code)
			refused++
		}
		close(let)
		group.Wait()
		for range 8 {
			assert.Equal(t, http.StatusOK, <-codes)
		}
		let = make(chan struct{})
	}
	close(let)
	assert.Equal(t, http.StatusOK, ask(0))
}

// TestBusyBeforeReading: a server whose completions are all in use does not read another body.
func TestBusyBeforeReading(t *testing.T) {
	f := &fake{step: make(chan struct{})}
	server := newServer(t, f, serve.Options{Requests: 1})
	done := make(chan int)
	go func() { done <- complete(t, server, `{"prompt": "a", "max_tokens": 1}`).Usage.Completion }()
	f.working(t, 1)
	post(t, server, "/v1/completions", `{broken`).refused(t, http.StatusTooManyRequests, "", "too many requests")
	close(f.step)
	assert.Equal(t, 1, <-done)
}

// TestPanickingHandler: a panic is answered with 500, and is one line in the log.
func TestPanickingHandler(t *testing.T) {
	logged := make(chan string, 4)
	mad := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("out of\nits mind") })
	server := newServer(t, &fake{}, serve.Options{Log: func(m string) { logged <- m }, Handlers: map[string]http.Handler{"/mad": mad}})
	assert.Equal(t, http.StatusInternalServerError, get(t, server, "/mad").Code)
	assert.Equal(t, "/mad: internal error: \"out of\\nits mind\"", <-logged)
	assert.Empty(t, logged)
}

// TestClientsThatLeave: a client that ends its stream is not logged.
func TestClientsThatLeave(t *testing.T) {
	logged := make(chan string, 64)
	f := &fake{pause: 5 * time.Millisecond}
	server := newServer(t, f, serve.Options{Log: func(m string) { logged <- m }})
	for range 20 {
		response, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "a", "max_tokens": 90, "stream": true}`))
		require.NoError(t, err)
		_, err = io.ReadFull(response.Body, make([]byte, 10))
		require.NoError(t, err)
		response.Body.Close()
	}
	f.working(t, 0)
	time.Sleep(20 * time.Millisecond)
	assert.Empty(t, logged)
}
