package cli

import (
	"fmt"
	"time"

	"github.com/residua-go/residua/internal/statusline"
)

// Progress shows how far a command has come in one line that it redraws, on terminals only and
// after the first two seconds. It must be used from one goroutine.
type Progress struct {
	out   Output
	what  string
	began time.Time
	next  time.Time
	line  *statusline.Line
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

// Show draws "3/8 questions, 5s left", at most five times a second.
func (p *Progress) Show(done, total int) {
	if done == 0 {
		return
	}
	now := time.Now()
	left := time.Duration(float64(now.Sub(p.began)) * float64(total-done) / float64(done)).Round(time.Second)
	p.draw(now, "%d/%d %s, %v left", done, total, p.what, left)
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
	p.line.Draw(fmt.Sprintf(format, words...))
}

// End removes the line.
func (p *Progress) End() { p.line.Clear() }
