package trainer

import (
	"fmt"
	"io"
	"math"

	"github.com/schollz/progressbar/v3"
)

// Reporter tells a person, or a script, how a run goes.
type Reporter interface {
	// Start is called once, with the steps done before and those to be done in all.
	Start(done, total int)
	// Step is called after each step.
	Step(m Metrics)
	// Note is called with a line of news: an evaluation, a checkpoint, a warning. It may be
	// called before Start and after Finish.
	Note(line string)
	// Finish is called once.
	Finish()
}

// Lines is the Reporter for logs: a plain line every few steps.
type Lines struct {
	w     io.Writer
	every int
	total int
}

// NewLines writes a line every so many steps.
func NewLines(w io.Writer, every int) *Lines { return &Lines{w: w, every: max(1, every)} }

// Start remembers the total.
func (l *Lines) Start(_, total int) { l.total = total }

// Step writes a line if it is time.
func (l *Lines) Step(m Metrics) {
	if m.Step%l.every == 0 || m.Step == l.total || m.Skipped {
		fmt.Fprintf(l.w, "step %d/%d  %s\n", m.Step, l.total, summary(m))
	}
}

// Note writes the line.
func (l *Lines) Note(line string) { fmt.Fprintln(l.w, line) }

// Finish does nothing.
func (l *Lines) Finish() {}

func summary(m Metrics) string {
	if m.Skipped {
		return fmt.Sprintf("skipped: loss %g, gradient norm %g", float64(m.Loss), float64(m.GradNorm))
	}
	return fmt.Sprintf("loss %.4f  lr %.2e  grad %.3f  %s tokens/s  %sFLOP/s",
		float64(m.Loss), m.LR, float64(m.GradNorm), thousands(m.TokensPS), thousands(m.FLOPsPS))
}

// thousands writes a number with a unit prefix, "1.24 k".
func thousands(v float64) string {
	for _, unit := range []string{"", " k", " M", " G", " T"} {
		if math.Abs(v) < 1000 {
			return fmt.Sprintf("%.3g%s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.3g P", v)
}

// Bar is the Reporter for terminals: a progress bar, with news above it.
type Bar struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

// NewBar draws on a terminal.
func NewBar(w io.Writer) *Bar { return &Bar{w: w} }

// Start draws the bar.
func (b *Bar) Start(done, total int) {
	b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(b.w), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth())
	_ = b.bar.Set(done)
}

// Step moves the bar.
func (b *Bar) Step(m Metrics) {
	b.bar.Describe(summary(m))
	_ = b.bar.Set(m.Step)
}

// Note prints the line above the bar; before Start there is none yet.
func (b *Bar) Note(line string) {
	if b.bar == nil {
		fmt.Fprintln(b.w, line)
		return
	}
	_ = b.bar.Clear()
	fmt.Fprintln(b.w, line)
	_ = b.bar.RenderBlank()
}

// Finish leaves the bar where it is.
func (b *Bar) Finish() { fmt.Fprintln(b.w) }

// JSONLines is the Reporter for scripts: each step's metrics line, as in metrics.jsonl.
type JSONLines struct{ w io.Writer }

// NewJSONLines writes to w.
func NewJSONLines(w io.Writer) *JSONLines { return &JSONLines{w} }

// Start does nothing.
func (j *JSONLines) Start(int, int) {}

// Step writes the line.
func (j *JSONLines) Step(m Metrics) { _ = writeLine(j.w, m) }

// Note does nothing: standard output holds metrics alone.
func (j *JSONLines) Note(string) {}

// Finish does nothing.
func (j *JSONLines) Finish() {}
