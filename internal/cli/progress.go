package cli

import (
	"fmt"
	"time"

	"github.com/residua-go/residua/internal/statusline"
)

// Progress shows on a terminal how far a command has come, in one line that is drawn again, from the
// second second on; elsewhere nothing. It is for one goroutine.
type Progress struct {
	out   Output
	what  string
	began time.Time
	next  time.Time
	line  *statusline.Line
}

// progressAfter is how long a command may take without a word.
const progressAfter = 2 * time.Second

// NewProgress begins the progress of what is counted ("questions") or done ("subspaces").
func NewProgress(out Output, what string) *Progress {
	p := &Progress{out: out, what: what, began: time.Now(), line: statusline.New(out.Stderr)}
	p.next = p.began.Add(progressAfter)
	return p
}

// Show draws "3/8 questions, 5s left", five times a second at most.
func (p *Progress) Show(done, total int) {
	if done == 0 {
		return
	}
	now := time.Now()
	left := time.Duration(float64(now.Sub(p.began)) * float64(total-done) / float64(done)).Round(time.Second)
	p.draw(now, "%d/%d %s, %v left", done, total, p.what, left)
}

// Tick draws "subspaces: 12s", of work whose share that is done is not known.
func (p *Progress) Tick() {
	now := time.Now()
	p.draw(now, "%s: %v", p.what, now.Sub(p.began).Truncate(time.Second))
}

// draw draws the line if it is time to.
func (p *Progress) draw(now time.Time, format string, words ...any) {
	if now.Before(p.next) || !p.out.Terminal() {
		return
	}
	p.next = now.Add(200 * time.Millisecond)
	p.line.Draw(fmt.Sprintf(format, words...))
}

// End takes the line away.
func (p *Progress) End() { p.line.Clear() }
