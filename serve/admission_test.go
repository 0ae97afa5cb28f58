package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/serve"
)

// TestBodiesAtOnce: the bodies of requests in progress count together, and their room is free again
// afterwards.
func TestBodiesAtOnce(t *testing.T) {
	const most = 1 << 16
	text := `{"prompt": "a", "max_tokens": 1, "user": "` + strings.Repeat("x", most-100) + `"}`
	for _, length := range []int64{int64(len(text)), -1} { // known, unknown
		f := &fake{step: make(chan struct{})}
		server := newServer(t, f, serve.Options{Body: most})
		ask := func() answer {
			request, err := http.NewRequest(http.MethodPost, server.URL+"/v1/completions", io.NopCloser(strings.NewReader(text)))
			require.NoError(t, err)
			request.ContentLength = length
			response, err := http.DefaultTransport.RoundTrip(request)
			require.NoError(t, err)
			return read(t, response)
		}
		codes := make(chan int, 8)
		for range 8 {
			go func() { codes <- ask().Code }()
		}
		f.working(t, 8)
		for range 16 {
			ask().refused(t, http.StatusTooManyRequests, "", "too many requests")
		}
		assert.Equal(t, http.StatusOK, get(t, server, "/v1/models").Code, "a request without a body needs no room")
		close(f.step)
		for range 8 {
			assert.Equal(t, http.StatusOK, <-codes)
		}
		assert.Equal(t, http.StatusOK, ask().Code)
	}
}

// dial opens a connection and sends the beginning of a request.
func dial(t *testing.T, server *httptest.Server, text string) net.Conn {
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { connection.Close() })
	_, err = connection.Write([]byte(text))
	require.NoError(t, err)
	return connection
}

// TestSilentConnections: clients that announce bodies and do not send them keep nobody from asking.
func TestSilentConnections(t *testing.T) {
	reads := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	server := newServer(t, &fake{}, serve.Options{Body: 1 << 16, Requests: 4, Handlers: map[string]http.Handler{"/other": reads}})
	for _, path := range []string{"/v1/completions", "/tokenize", "/other"} {
		for _, length := range []string{"Content-Length: 65536", "Transfer-Encoding: chunked"} {
			for _, begun := range []string{"", "\r\n", "\r\n\r\n", "\r\n\r\n1\r\n{"} {
				for range 10 {
					dial(t, server, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+length+begun)
				}
			}
		}
	}
	time.Sleep(50 * time.Millisecond) // the server has read what they sent
	for range 10 {
		text := `{"prompt": "a", "user": "` + strings.Repeat("x", 1<<16-100) + `"}`
		assert.Equal(t, 16, complete(t, server, text).Usage.Completion)
	}
}

// TestStalledBodies: a client whose body stops, or comes byte by byte, is answered with 408 after a
// while, and gives the room back that it took.
func TestStalledBodies(t *testing.T) {
	const stall = 300 * time.Millisecond
	server := newServer(t, &fake{}, serve.Options{Body: 1 << 16, StallTime: stall})
	text := `{"prompt": "a", "user": "` + strings.Repeat("x", 1<<16-100) + `"}`
	head := fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", len(text))
	begin := time.Now()
	var connections []net.Conn
	for range 8 {
		connections = append(connections, dial(t, server, head+text[:len(text)-100]))
	}
	for _, c := range connections {
		go func() {
			for range 20 { // longer than the server waits
				time.Sleep(stall / 10)
				c.Write([]byte("x"))
			}
		}()
	}
	for _, c := range connections {
		c.SetReadDeadline(time.Now().Add(10 * time.Second))
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		read(t, response).refused(t, http.StatusRequestTimeout, "", "could not be read to its end")
	}
	assert.GreaterOrEqual(t, time.Since(begin), stall)
	assert.Equal(t, 16, complete(t, server, text).Usage.Completion)
}

// TestUnreadBodies: a connection whose request was answered without its body is closed if the body
// does not come.
func TestUnreadBodies(t *testing.T) {
	server := newServer(t, &fake{}, serve.Options{StallTime: 100 * time.Millisecond})
	c := dial(t, server, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err := io.ReadAll(c)
	assert.NoError(t, err, "the connection ends")
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
	assert.Regexp(t, `^/mad: request [A-Z2-7]{26}: internal error: "out of\\nits mind"$`, <-logged)
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
