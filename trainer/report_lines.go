package trainer

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/residua-go/residua/figure"
)

// linesEvery is the time between two lines if the caller sets no number of steps.
const linesEvery = 30 * time.Second

// Lines is the Reporter for logs: it writes a plain line from time to time.
type Lines struct {
	Silent
	every    int
	interval time.Duration
	pace     pace
	last     time.Duration // when the last line was written, since Start

	mu sync.Mutex // an interrupt may be reported while a step is
	w  io.Writer
}

// NewLines writes a line every given number of steps; with 0, after the first step and then about
// every 30 seconds. The last step and a step without an update always get a line.
func NewLines(w io.Writer, every int) *Lines {
	return &Lines{w: w, every: every, interval: linesEvery}
}

// Start remembers when the run began.
func (l *Lines) Start(done, total int) { l.pace = newPace(done, total) }

// Step writes a line if one is due.
func (l *Lines) Step(m Metrics) {
	if !l.due(m) {
		return
	}
	l.last = l.pace.elapsed()
	l.Note(fmt.Sprintf("step %d/%d  %s  %s", m.Step, l.pace.total, lineOf(m), l.pace.times(m.Step)))
}

func (l *Lines) due(m Metrics) bool {
	switch {
	case m.Skipped, m.Step == l.pace.total:
		return true
	case l.every > 0:
		return m.Step%l.every == 0
	}
	return m.Step == l.pace.done+1 || l.pace.elapsed()-l.last >= l.interval
}

// Note writes the line.
func (l *Lines) Note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.w, figure.Visible(line))
}

// Warn writes the line as a warning.
func (l *Lines) Warn(line string) { l.Note(warning(line)) }

// lineOf formats a step's metrics as a line.
func lineOf(m Metrics) string {
	if m.Skipped {
		return fmt.Sprintf("skipped: loss %g, gradient norm %g", float64(m.Loss), float64(m.GradNorm))
	}
	return fmt.Sprintf("loss %.4f  lr %.2e  grad %.3f  %s tokens/s  %sFLOP/s",
		float64(m.Loss), m.LR, float64(m.GradNorm), thousands(m.TokensPS), thousands(m.FLOPsPS))
}
