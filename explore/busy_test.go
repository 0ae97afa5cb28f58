package explore_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/explore"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
)

// held is an answer that nobody reads until it is released.
type held struct {
	*httptest.ResponseRecorder
	begun, released chan struct{}
	once            sync.Once
}

func (h *held) Write(text []byte) (int, error) {
	h.once.Do(func() { close(h.begun) })
	<-h.released
	return h.ResponseRecorder.Write(text)
}

// ask runs the model on three tokens and three new ones.
func (c client) ask(w http.ResponseWriter) {
	r := httptest.NewRequest(http.MethodPost, "/explorer/run", strings.NewReader(`{"ids": [1, 2, 3], "tokens": 3}`))
	r.Header.Set("Content-Type", "application/json")
	c.e.ServeHTTP(w, r)
}

// TestBusy: while one request runs and as many wait as may, the next is answered 429; the others
// are answered in the end.
func TestBusy(t *testing.T) {
	spec := modeltest.Resolve(t, modeltest.Small(models.Standard())[0].Config)
	m := &pretrained.Model{Store: modeltest.PerturbedStore(t, spec, tensor.Float32)}
	m.Spec = spec
	c := open(t, m, explore.Options{Threads: 1, Waiting: 1})
	first := &held{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), released: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() { c.ask(first) })
	<-first.begun
	answers := make(chan *httptest.ResponseRecorder)
	for range 4 {
		go func() {
			w := httptest.NewRecorder()
			c.ask(w)
			answers <- w
		}()
	}
	for range 3 { // the fourth waits, whichever it is
		w := <-answers
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		assert.True(t, json.Valid(w.Body.Bytes()))
	}
	close(first.released)
	all.Wait()
	for _, w := range []*httptest.ResponseRecorder{first.ResponseRecorder, <-answers} {
		require.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, 7, strings.Count(w.Body.String(), "\n"), "3 tokens of the prompt, 3 new ones, the stop")
	}
}
