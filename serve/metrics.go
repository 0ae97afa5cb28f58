package serve

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// metrics holds what /metrics reports, in Prometheus' text format
// (https://prometheus.io/docs/instrumenting/exposition_formats).
type metrics struct {
	mutex      sync.Mutex
	requests   map[string]int // number by labels
	prompt     int            // tokens read
	generation int            // tokens generated
	first      histogram
	whole      histogram
}

// histogram counts durations, in total and up to each of bounds, and sums them.
type histogram struct {
	counts [len(bounds)]int
	count  int
	sum    float64
}

// bounds are the histograms' upper bounds, in seconds.
var bounds = [...]float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300}

func (h *histogram) add(d time.Duration) {
	for i, bound := range bounds {
		if d.Seconds() <= bound {
			h.counts[i]++
		}
	}
	h.count++
	h.sum += d.Seconds()
}

func (m *metrics) answered(path string, code int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.requests == nil {
		m.requests = map[string]int{}
	}
	m.requests[fmt.Sprintf("path=%q,code=%q", path, strconv.Itoa(code))]++
}

// firstToken returns a function to call for each piece of a completion; it records the first call.
func (m *metrics) firstToken(start time.Time) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			m.mutex.Lock()
			defer m.mutex.Unlock()
			m.first.add(time.Since(start))
		})
	}
}

func (m *metrics) generated(u usage, d time.Duration) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.prompt += u.PromptTokens
	m.generation += u.CompletionTokens
	m.whole.add(d)
}

// writeMetrics answers GET /metrics.
func (s *Server) writeMetrics(w http.ResponseWriter, _ *http.Request) error {
	var b bytes.Buffer
	head := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	single := func(name, kind, help string, value int) {
		head(name, kind, help)
		fmt.Fprintf(&b, "%s %d\n", name, value)
	}
	m := &s.metrics
	m.mutex.Lock()
	head("residua_requests_total", "counter", "Requests answered, by path and status code.")
	for _, labels := range slices.Sorted(maps.Keys(m.requests)) {
		fmt.Fprintf(&b, "residua_requests_total{%s} %d\n", labels, m.requests[labels])
	}
	single("residua_completions_running", "gauge", "Completions that are worked on, those that wait for the model included.", int(s.running.Load()))
	single("residua_completions_limit", "gauge", "Completions that may run; what comes beyond is answered 429.", s.options.Requests)
	single("residua_prompt_tokens_total", "counter", "Tokens of prompts.", m.prompt)
	single("residua_generation_tokens_total", "counter", "Tokens generated.", m.generation)
	for _, h := range []struct {
		name, help string
		histogram  histogram
	}{
		{"residua_first_piece_seconds", "Time from a completion's start to its first piece of text.", m.first},
		{"residua_completion_seconds", "Time of whole completions.", m.whole},
	} {
		head(h.name, "histogram", h.help)
		for i, bound := range bounds {
			fmt.Fprintf(&b, "%s_bucket{le=\"%g\"} %d\n", h.name, bound, h.histogram.counts[i])
		}
		fmt.Fprintf(&b, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", h.name, h.histogram.count, h.name, h.histogram.sum, h.name, h.histogram.count)
	}
	m.mutex.Unlock()
	single("go_goroutines", "gauge", "Goroutines of the process.", runtime.NumGoroutine())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, err := w.Write(b.Bytes())
	return err
}
