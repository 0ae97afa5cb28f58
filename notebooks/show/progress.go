package show

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/residua-go/residua/internal/statusline"
	"github.com/residua-go/residua/trainer"
)

// Training returns a Reporter that shows a training run's progress in the cell's output:
//
//	t, err := trainer.Open(ctx, run, trainer.Options{Report: show.Training(Display)})
//
// Pass the kernel's function Display.
func Training(display func(Rendered) error) trainer.Reporter {
	return &training{line: newLine(display)}
}

// Progress returns a function to call after each step of a loop, which shows the loop's progress in
// the cell's output. It returns an error once the cell has been interrupted.
//
//	progress := show.Progress(Display)
//	for step := 0; step < steps; step++ {
//		...
//		show.Check(progress(step+1, steps, loss))
//	}
func Progress(display func(Rendered) error) func(done, total int, loss float64) error {
	l := newLine(display)
	last := 0
	return func(done, total int, loss float64) error {
		if done <= last {
			l.begin(done-1, total) // a new loop in the same line
		}
		last, l.total = done, total
		return l.step(done, loss)
	}
}

// training is the Reporter for notebooks.
type training struct {
	trainer.Silent
	line *line
}

// Start shows the line.
func (t *training) Start(done, total int) {
	t.line.begin(done, total)
	_ = t.line.end()
}

// Step shows the step and its loss.
func (t *training) Step(m trainer.Metrics) { _ = t.line.step(m.Step, float64(m.Loss)) }

// Warn prints the line.
func (t *training) Warn(line string) { fmt.Fprintln(os.Stderr, "warning: "+line) }

// Finish shows the number of steps done.
func (t *training) Finish() { _ = t.line.end() }

// barWidth is the number of characters of a loop's bar.
const barWidth = 20

// redraw is the shortest time between two updates.
const redraw = 200 * time.Millisecond

// line shows a loop's progress and redraws itself in place. After the loop it shows only the number
// of steps, so that the output is the same each time.
type line struct {
	display     func(Rendered) error
	id          string
	now         func() time.Time
	begun       time.Time
	first       int // steps done at the start
	done, total int
	drawn       time.Time
}

func newLine(display func(Rendered) error) *line {
	l := &line{display: display, id: "progress-" + rand.Text(), now: time.Now}
	l.begin(0, 0)
	return l
}

func (l *line) begin(done, total int) {
	l.begun, l.first, l.done, l.total, l.drawn = l.now(), done, done, total, time.Time{}
}

// step redraws the line if enough time has passed.
func (l *line) step(done int, loss float64) error {
	l.done = done
	if done >= l.total {
		return l.end()
	}
	now := l.now()
	if now.Sub(l.drawn) < redraw {
		return nil
	}
	l.drawn = now
	left := now.Sub(l.begun) * time.Duration(l.total-done) / time.Duration(max(1, done-l.first))
	bar := statusline.Bar(float64(done)/float64(l.total), barWidth)
	return l.draw(fmt.Sprintf("%s %s, loss %.4g, %v left", bar, l.steps(), loss, left.Round(time.Second)))
}

func (l *line) end() error { return l.draw(l.steps()) }

func (l *line) steps() string { return fmt.Sprintf("%d of %d steps", l.done, l.total) }

func (l *line) draw(text string) error {
	return l.display(Rendered{Data: map[string]any{"text/plain": text}, Transient: map[string]any{"display_id": l.id}})
}
