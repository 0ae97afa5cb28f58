package commandline

import (
	"fmt"
	"time"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/statusline"
)

// Progress shows how far a command has come in one line that it redraws, on terminals only and
// after the first two seconds. It must be used from one goroutine.
type Progress struct {
	out   Output
	what  string
	began time.Time
	next  time.Time
	first float64 // of Share
	asked bool    // Share was called
	line  *statusline.Line
	text  string // of the line; "" while it is not shown
}

// progressAfter is how long a command may run before it shows progress.
const progressAfter = 2 * time.Second

// NewProgress starts to show the progress of things to count ("questions") or of work
// ("subspaces").
func NewProgress(out Output, what string) *Progress {
	p := &Progress{out: out, what: what, began: time.Now(), line: statusline.New(out.Stderr)}
	p.next = p.began.Add(progressAfter)
	return p
}

// barWidth is the number of characters of a bar.
const barWidth = 20

// Show draws a bar and "3/8 questions, 5s left", at most five times a second.
func (p *Progress) Show(done, total int) {
	if done == 0 {
		return
	}
	now := time.Now()
	left := time.Duration(float64(now.Sub(p.began)) * float64(total-done) / float64(done)).Round(time.Second)
	p.draw(now, "%s %d/%d %s, %v left", statusline.Bar(float64(done)/float64(total), barWidth), done, total, p.what, left)
}

// Rate draws a bar and "410/1,024 MB read, 38.1 MB/s, 16s left", for done of total bytes.
// before is the number of bytes that were done when the work began.
func (p *Progress) Rate(done, total, before int64) {
	const mb = 1e6
	now := time.Now()
	rate := float64(done-before) / now.Sub(p.began).Seconds()
	if rate <= 0 || total <= 0 {
		return
	}
	done = min(done, total)
	left := time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second)
	p.draw(now, "%s %s/%s %s, %.1f MB/s, %v left", statusline.Bar(float64(done)/float64(total), barWidth),
		figure.Thousands(done/mb), figure.Thousands(total/mb), p.what, rate/mb, left)
}

// Share draws a bar and "34% of the experiment, 5m10s left", for a share of the work that is done.
// The share of the first call counts as done before the work began.
func (p *Progress) Share(share float64) {
	now := time.Now()
	if !p.asked {
		p.asked, p.first, p.began = true, share, now
	}
	if share <= p.first {
		return
	}
	left := time.Duration(float64(now.Sub(p.began)) * (1 - share) / (share - p.first)).Round(time.Second)
	p.draw(now, "%s %.0f%% %s, %v left", statusline.Bar(share, barWidth), 100*share, p.what, left)
}

// Tick draws "subspaces: 12s", for work whose extent is unknown.
func (p *Progress) Tick() {
	now := time.Now()
	p.draw(now, "%s: %v", p.what, now.Sub(p.began).Truncate(time.Second))
}

// draw redraws the line if enough time has passed.
func (p *Progress) draw(now time.Time, format string, words ...any) {
	if now.Before(p.next) || !p.out.Terminal() {
		return
	}
	p.next = now.Add(200 * time.Millisecond)
	p.text = fmt.Sprintf(format, words...)
	p.line.Draw(p.text)
}

// Note writes a note above the line.
func (p *Progress) Note(message string) { p.above(p.out.Note, message) }

// Warn writes a warning above the line.
func (p *Progress) Warn(message string) { p.above(p.out.Warn, message) }

func (p *Progress) above(write func(string), message string) {
	p.line.Clear()
	write(message)
	if p.text != "" {
		p.line.Draw(p.text)
	}
}

// End removes the line.
func (p *Progress) End() {
	p.text = ""
	p.line.Clear()
}
