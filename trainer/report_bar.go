package trainer

import (
	"fmt"
	"io"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/residua-go/residua/figure"
)

// Bar is the Reporter for terminals: a progress bar that is redrawn a few times a second in
// the terminal's width, with news above it.
type Bar struct {
	w    io.Writer
	pace pace
	area *mpb.Progress // nil before Start
	bar  *mpb.Bar

	mu   sync.Mutex // the bar is drawn while steps are reported
	last Metrics
}

// NewBar draws on a terminal.
func NewBar(w io.Writer) *Bar { return &Bar{w: w} }

// Start draws the bar.
func (b *Bar) Start(done, total int) {
	b.pace = newPace(done, total)
	b.last.Step = done
	b.area = mpb.New(mpb.WithOutput(b.w), mpb.WithAutoRefresh())
	b.bar = b.area.New(int64(total), mpb.BarStyle().Rbound("]"),
		mpb.PrependDecorators(decor.Any(b.left)), mpb.AppendDecorators(decor.Any(b.right)))
	b.bar.SetCurrent(int64(done))
}

// lineStart moves to the first column: the terminal's own echo of Ctrl-C leaves the cursor
// after it.
const lineStart = "\r"

// barLeast is the least width of the bar itself, in columns.
const barLeast = 10

// left is what stands before the bar.
func (b *Bar) left(decor.Statistics) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return lineStart + fmt.Sprintf("step %d/%d", b.last.Step, b.pace.total)
}

// right is what stands after the bar: as much as leaves the bar its least width.
func (b *Bar) right(s decor.Statistics) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	texts := b.texts()
	for _, text := range texts {
		if len(text)+len("  ")+barLeast <= s.AvailableWidth {
			return text
		}
	}
	return " " + texts[len(texts)-1]
}

// texts are ways to say where the run stands, the longest first.
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
	b.last = m
	b.mu.Unlock()
	b.bar.SetCurrent(int64(m.Step))
}

// Note prints the line above the bar.
func (b *Bar) Note(line string) {
	line = figure.Visible(line)
	if b.area != nil {
		if _, err := fmt.Fprintln(b.area, lineStart+line); err == nil {
			return
		}
	}
	fmt.Fprintln(b.w, line) // before Start, after Finish
}

// Warn prints the line as a warning above the bar.
func (b *Bar) Warn(line string) { b.Note(warning(line)) }

// Finish leaves the bar where it is.
func (b *Bar) Finish() {
	if b.area == nil {
		return
	}
	b.bar.Abort(false) // does nothing to one that is full
	b.area.Wait()
}
