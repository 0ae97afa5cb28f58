package serve

import (
	"context"
	"net/http"

	"golang.org/x/sync/semaphore"

	"github.com/residua-go/residua/generate"
)

// bodiesAtOnce is how many bodies of the largest size may be in use at a time; many more of an
// ordinary size fit.
const bodiesAtOnce = 8

// admitted limits the total size of the request bodies in use. A body counts, with the ids and
// texts made from it, until its request ends. If there is no room for a body, the answer is
// 429 before the body is read. A body of unknown length counts as one of the largest size
// until it has been read.
func (s *Server) admitted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &heldBody{bytes: r.ContentLength, of: s.bodies}
		if held.bytes < 0 || held.bytes > s.options.Body {
			held.bytes = s.options.Body
		}
		if !s.bodies.TryAcquire(held.bytes) {
			w.Header().Set("Connection", "close") // the body will not be read
			writeError(w, asAPI(generate.ErrBusy))
			return
		}
		defer func() { s.bodies.Release(held.bytes) }()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), heldBody{}, held)))
	})
}

// heldBody is a request's share of that limit; the zero value is its key in the request's context.
type heldBody struct {
	bytes int64
	of    *semaphore.Weighted
}

// shrinkTo releases the bytes that a body of unknown length turned out not to need.
func shrinkTo(ctx context.Context, bytes int64) {
	if held, ok := ctx.Value(heldBody{}).(*heldBody); ok && bytes < held.bytes {
		held.of.Release(held.bytes - bytes)
		held.bytes = bytes
	}
}
