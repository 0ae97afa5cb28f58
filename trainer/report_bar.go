package trainer

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/statusline"
)

// Bar is the Reporter for terminals: a progress bar as wide as the terminal, redrawn a few times a
// second, with news above it.
type Bar struct {
	w    io.Writer
	pace pace

	mu   sync.Mutex       // a goroutine redraws the bar while steps are reported
	line *statusline.Line // nil before Start and after Finish
	last Metrics
	part string // how far the step under way is, "" if it is not known
	stop chan struct{}
}

// NewBar draws on a terminal.
func NewBar(w io.Writer) *Bar { return &Bar{w: w} }

// barInterval is the time between two drawings.
const barInterval = 200 * time.Millisecond

// Start draws the bar.
func (b *Bar) Start(done, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pace, b.line, b.stop = newPace(done, total), statusline.New(b.w), make(chan struct{})
	b.last.Step = done
	b.line.Draw(b.text())
	go b.redraw(b.stop)
}

// redraw draws the bar repeatedly until stop is closed.
func (b *Bar) redraw(stop chan struct{}) {
	ticker := time.NewTicker(barInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			b.mu.Lock()
			if b.line != nil {
				b.line.Draw(b.text())
			}
			b.mu.Unlock()
		}
	}
}

// barLeast is the smallest width of the bar itself, in columns.
const barLeast = 10

// text returns the whole line: the steps, the bar, and the longest of texts that leaves the bar its
// smallest width.
func (b *Bar) text() string {
	left := fmt.Sprintf("step %d/%d%s ", b.last.Step, b.pace.total, b.part)
	room := b.line.Columns() - len(left) - len("[] ")
	texts := b.texts()
	right := texts[len(texts)-1]
	for _, text := range texts {
		if len(text)+barLeast <= room {
			right = text
			break
		}
	}
	width := max(0, room-len(right))
	bar := strings.Repeat("=", width*b.last.Step/max(1, b.pace.total))
	if len(bar) < width {
		bar = (bar + ">" + strings.Repeat("-", width))[:width]
	}
	return left + "[" + bar + "] " + right
}

// texts returns descriptions of where the run stands, the longest first.
func (b *Bar) texts() []string {
	m, times := b.last, b.pace.times(b.last.Step)
	switch {
	case m.Step == b.pace.done: // no step yet
		return []string{times}
	case m.Skipped:
		return []string{"update skipped  " + times, "update skipped"}
	}
	loss := fmt.Sprintf("loss %.4f", float64(m.Loss))
	return []string{fmt.Sprintf("%s  %s tokens/s  %s", loss, thousands(m.TokensPS), times), loss + "  " + times, loss}
}

// Step moves the bar.
func (b *Bar) Step(m Metrics) {
	b.mu.Lock()
	b.last, b.part = m, ""
	b.mu.Unlock()
}

// Micro shows how many micro-batches of the step under way are done.
func (b *Bar) Micro(done, of int) {
	b.mu.Lock()
	b.part = fmt.Sprintf(" + %d/%d", done, of)
	b.mu.Unlock()
}

// Note prints the line above the bar.
func (b *Bar) Note(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	line = figure.Visible(line)
	if b.line == nil {
		fmt.Fprintln(b.w, line)
		return
	}
	b.line.Above(line, b.text())
}

// Warn prints the line as a warning above the bar.
func (b *Bar) Warn(line string) { b.Note(warning(line)) }

// Finish leaves the last drawing on the terminal.
func (b *Bar) Finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line == nil {
		return
	}
	close(b.stop)
	b.line.Leave(b.text())
	b.line = nil
}
