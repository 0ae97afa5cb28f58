package serve

import (
	"context"
	"net/http"
	"sync"

	"github.com/residua-go/residua/generate"
)

// bodiesAtOnce is how many bodies of the greatest size may be worked on at a time; many more of a usual size fit.
const bodiesAtOnce = 8

// admission bounds the bytes of the bodies that are worked on: each is held, as ids and texts, until its request ends.
type admission struct {
	mutex sync.Mutex
	free  int64
}

// take takes bytes if there are as many.
func (a *admission) take(bytes int64) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if bytes > a.free {
		return false
	}
	a.free -= bytes
	return true
}

func (a *admission) give(bytes int64) {
	a.mutex.Lock()
	a.free += bytes
	a.mutex.Unlock()
}

// admitted answers 429 before a body is read for which there is no room. A body of unknown length counts as one of the greatest
// size until it has been read.
func (s *Server) admitted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &heldBody{bytes: r.ContentLength, admission: &s.bodies}
		if held.bytes < 0 || held.bytes > s.options.Body {
			held.bytes = s.options.Body
		}
		if !s.bodies.take(held.bytes) {
			w.Header().Set("Connection", "close") // the body is not read
			writeError(w, asAPI(generate.ErrBusy))
			return
		}
		defer func() { s.bodies.give(held.bytes) }()
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), heldBody{}, held)))
	})
}

// heldBody is what a request holds of the admission, in its context by the zero value.
type heldBody struct {
	bytes     int64
	admission *admission
}

// shrinkTo gives back what a body of unknown length did not need.
func shrinkTo(ctx context.Context, bytes int64) {
	if held, ok := ctx.Value(heldBody{}).(*heldBody); ok && bytes < held.bytes {
		held.admission.give(held.bytes - bytes)
		held.bytes = bytes
	}
}
