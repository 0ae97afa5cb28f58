package serve

import (
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/residua-go/residua/internal/jsonbody"
)

// bodiesAtOnce is how many bodies of the largest size may be in use at a time; many more of an
// ordinary size fit.
const bodiesAtOnce = 8

// admitted limits the total size of the request bodies in use. The bytes of a body count as they
// arrive, with the ids and texts made from them, until its request ends; a body without room for
// its next bytes is answered with 429.
func (s *Server) admitted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := &countedBody{ReadCloser: r.Body, room: s.bodies}
		r.Body = body
		defer func() {
			s.bodies.Release(body.bytes)
			// For what the handler did not read; net/http sets another one for the next request.
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.options.StallTime))
		}()
		h.ServeHTTP(w, r)
	})
}

// countedBody counts the bytes of a body.
type countedBody struct {
	io.ReadCloser
	room  *semaphore.Weighted
	bytes int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.room.TryAcquire(int64(n)) {
		return 0, jsonbody.ErrBusy
	}
	b.bytes += int64(n)
	return n, err
}
