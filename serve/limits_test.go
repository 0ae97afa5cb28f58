package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLimits: docs/serve.md has all limits with their defaults, in this order.
func TestLimits(t *testing.T) {
	o, err := Options{}.withDefaults()
	require.NoError(t, err)
	brief := func(d time.Duration) string { return strings.Replace(d.String(), "m0s", "m", 1) }
	limits := []string{
		fmt.Sprintf("| completions in progress | %d | `-requests`, `Options.Requests` | 429 |", o.Requests),
		fmt.Sprintf("| bytes of a body | %d | `-max-body`, `Options.Body` | 413 |", o.Body),
		fmt.Sprintf("| bytes of all bodies at a time | %d | %d times `-max-body` | 429 |", bodiesAtOnce*o.Body, bodiesAtOnce),
		fmt.Sprintf("| memory of all answers, in bytes | %d | `-max-answers`, `Options.Answers` | 429 |", o.Answers),
		fmt.Sprintf("| texts of a request | %d | | 400 |", mostTexts),
		fmt.Sprintf("| stop strings | %d | | 400 |", mostStops),
		fmt.Sprintf("| bytes of a header | %d | | 431 |", mostHeader),
		fmt.Sprintf("| time of a completion, with its wait | %s | `-request-time`, `Options.RequestTime` | 503 |", brief(o.RequestTime)),
		fmt.Sprintf("| time of a header, and of each next 64 KiB of a body | %s | `Options.StallTime` | 408 |", brief(o.StallTime)),
		fmt.Sprintf("| time of a body | %s | `Options.ReadTime` | 408 |", brief(o.ReadTime)),
		fmt.Sprintf("| time that a client may leave a write unread | %s | `Options.WriteTime` | the connection ends |", brief(o.WriteTime)),
		fmt.Sprintf("| events of a stream that wait for the client | %d | | the connection ends |", mostUnread),
		fmt.Sprintf("| time that a connection waits for its next request | %s | | the connection ends |", brief(idleTime)),
		fmt.Sprintf("| time of what runs when the server is stopped | %s | `-stop-time`, `Options.StopTime` | 503 |", brief(o.StopTime)),
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "serve.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "\n|---|---:|---|---|\n"+strings.Join(limits, "\n")+"\n\n")

	unit, err := os.ReadFile(filepath.Join("..", "examples", "serve", "residua.service"))
	require.NoError(t, err)
	stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\S+)$`).FindStringSubmatch(string(unit))
	require.NotNil(t, stop)
	limit, err := time.ParseDuration(stop[1])
	require.NoError(t, err)
	assert.GreaterOrEqual(t, limit, o.StopTime+5*time.Second, "systemd kills no server that is stopping")
}

// TestReady: a server whose completions are all taken is not ready, and is healthy.
func TestReady(t *testing.T) {
	s := &Server{options: Options{Requests: 2}}
	s.handler = s.routes()
	get := func(path string) int {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		return w.Code
	}
	s.running.Store(1)
	assert.Equal(t, http.StatusOK, get("/readyz"))
	s.running.Store(2)
	assert.Equal(t, http.StatusServiceUnavailable, get("/readyz"))
	assert.Equal(t, http.StatusOK, get("/healthz"))
	s.running.Store(0)
	assert.Equal(t, http.StatusOK, get("/readyz"))
}

// TestRequestIDs: an answer has its request's id, or one of its own where that cannot be logged.
func TestRequestIDs(t *testing.T) {
	s := &Server{options: Options{Requests: 1}}
	s.handler = s.routes()
	for given, kept := range map[string]bool{"a-1": true, strings.Repeat("x", 128): true, "": false, "a b": false, strings.Repeat("x", 129): false, "a\u00e9": false} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://localhost/healthz", nil)
		r.Header.Set(requestID, given)
		s.ServeHTTP(w, r)
		got := w.Header().Get(requestID)
		if kept {
			assert.Equal(t, given, got)
		} else {
			assert.Regexp(t, `^[A-Z2-7]{26}$`, got)
		}
	}
}
