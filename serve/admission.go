package serve

import (
	"context"
	"net/http"

	"golang.org/x/sync/semaphore"

	"github.com/residua-go/residua/generate"
)

// bodiesAtOnce is how many bodies of the greatest size may be worked on at a time; many more of a usual size fit.
const bodiesAtOnce = 8

// admitted bounds the bytes of the bodies that are worked on: each is held, as ids and texts, until its request ends. It answers 429
// before a body is read for which there is no room. A body of unknown length counts as one of the greatest size until it has been
// read.
func (s *Server) admitted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &heldBody{bytes: r.ContentLength, of: s.bodies}
		if held.bytes < 0 || held.bytes > s.options.Body {
			held.bytes = s.options.Body
		}
		if !s.bodies.TryAcquire(held.bytes) {
			w.Header().Set("Connection", "close") // the body is not read
			writeError(w, asAPI(generate.ErrBusy))
			return
		}
		defer func() { s.bodies.Release(held.bytes) }()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), heldBody{}, held)))
	})
}

// heldBody is what a request holds of the bytes that are free, in its context by the zero value.
type heldBody struct {
	bytes int64
	of    *semaphore.Weighted
}

// shrinkTo gives back what a body of unknown length did not need.
func shrinkTo(ctx context.Context, bytes int64) {
	if held, ok := ctx.Value(heldBody{}).(*heldBody); ok && bytes < held.bytes {
		held.of.Release(held.bytes - bytes)
		held.bytes = bytes
	}
}
