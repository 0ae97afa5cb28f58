package explore_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/serve/explore"
)

// held is a response whose reader waits until it is released.
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

// ask asks the model for a run on three tokens and three new ones.
func (c client) ask(w http.ResponseWriter) {
	r := httptest.NewRequest(http.MethodPost, "/explorer/run", strings.NewReader(`{"ids": [1, 2, 3], "tokens": 3}`))
	r.Header.Set("Content-Type", "application/json")
	c.e.ServeHTTP(w, r)
}

// TestBusy: while one request runs and the queue is full, the next one is answered 429; the others
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

// endless asks for an analysis of a million seeds, and returns how it was answered.
func (c client) endless(ctx context.Context) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/explorer/analyses/rotation", strings.NewReader(`{"seeds": 1000000, "ids": [1, 2, 3]}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	c.e.ServeHTTP(w, r)
	return w
}

// TestEndlessAnalysis: an analysis ends when its client leaves, when its time is over and when the
// explorer is closed, which waits for no analysis; the next request is answered meanwhile.
func TestEndlessAnalysis(t *testing.T) {
	c := small(t)
	ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.endless(ctx)
		w := httptest.NewRecorder()
		c.ask(w)
		assert.Equal(t, http.StatusOK, w.Code)

		answered := make(chan *httptest.ResponseRecorder)
		go func() { answered <- c.endless(t.Context()) }()
		go func() { answered <- c.endless(t.Context()) }() // waits for its turn
		time.Sleep(50 * time.Millisecond)
		begin := time.Now()
		c.e.Close()
		assert.Less(t, time.Since(begin), time.Second)
		for range 2 {
			w := <-answered
			assert.Equal(t, http.StatusServiceUnavailable, w.Code)
			assert.Contains(t, w.Body.String(), "the explorer was closed")
		}
		assert.Equal(t, http.StatusServiceUnavailable, c.endless(t.Context()).Code)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the analysis goes on")
	}
}

// TestTimeOfAnalysis: an analysis that takes too long is answered with what to do.
func TestTimeOfAnalysis(t *testing.T) {
	spec := modeltest.Resolve(t, modeltest.Small(models.Standard())[0].Config)
	m := &pretrained.Model{Store: modeltest.PerturbedStore(t, spec, tensor.Float32)}
	m.Spec = spec
	c := open(t, m, explore.Options{Threads: 1, Time: 50 * time.Millisecond})
	w := c.endless(t.Context())
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Contains(t, w.Body.String(), "within 50ms, got more: ask for less, or ask the analyze command")
}

// timed is a response that records the deadlines for reading its request's body.
type timed struct {
	*httptest.ResponseRecorder
	until []time.Time
}

func (w *timed) SetReadDeadline(t time.Time) error {
	w.until = append(w.until, t)
	return nil
}

// TestReadTime: a request whose body does not arrive is ended after a time; that time does not end
// the answer.
func TestReadTime(t *testing.T) {
	w, begin := &timed{ResponseRecorder: httptest.NewRecorder()}, time.Now()
	r := httptest.NewRequest(http.MethodPost, "/explorer/run", iotest.ErrReader(os.ErrDeadlineExceeded))
	r.Header.Set("Content-Type", "application/json")
	e := small(t).e
	e.ServeHTTP(w, r)
	assert.Equal(t, http.StatusRequestTimeout, w.Code, w.Body)
	require.Len(t, w.until, 1)
	assert.WithinRange(t, w.until[0], begin.Add(time.Second), begin.Add(2*time.Minute))

	w = &timed{ResponseRecorder: httptest.NewRecorder()}
	r = httptest.NewRequest(http.MethodPost, "/explorer/run", strings.NewReader(`{"ids": [1, 2, 3]}`))
	r.Header.Set("Content-Type", "application/json")
	e.ServeHTTP(w, r)
	require.Len(t, w.until, 2)
	assert.True(t, w.until[1].IsZero(), "no limit once the body is read")
}
