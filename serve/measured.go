package serve

import (
	"fmt"
	"net/http"
	"time"

	"github.com/pkg/errors"
)

// measured counts the answers for a path, and gives each of their writes a time limit.
func (s *Server) measured(path string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := &measuredWriter{ResponseWriter: w, limit: s.options.WriteTime}
		defer func() { s.metrics.answered(path, m.code()) }()
		defer s.recovered(path, m)
		h.ServeHTTP(m, r)
	})
}

// recovered answers a request whose handler has panicked, unless it was answered already, and
// logs the panic.
func (s *Server) recovered(path string, m *measuredWriter) {
	r := recover()
	if r == nil || r == http.ErrAbortHandler {
		return
	}
	s.logFailure(m, path, fmt.Sprintf("internal error: %q", fmt.Sprint(r)))
	if m.status == 0 {
		writeError(m, asAPI(errors.New("internal error")))
	}
}

type measuredWriter struct {
	http.ResponseWriter
	limit  time.Duration
	status int // 0: nothing has been written
}

// code returns the status; if the client left before anything was written, it is 499, as in nginx.
func (m *measuredWriter) code() int {
	if m.status == 0 {
		return 499
	}
	return m.status
}

// Unwrap is for http.ResponseController.
func (m *measuredWriter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

func (m *measuredWriter) WriteHeader(status int) {
	if m.status == 0 {
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *measuredWriter) Write(p []byte) (int, error) {
	if m.status == 0 {
		m.status = http.StatusOK
	}
	http.NewResponseController(m.ResponseWriter).SetWriteDeadline(time.Now().Add(m.limit)) // fails without effect if the writer supports no deadlines
	return m.ResponseWriter.Write(p)
}
