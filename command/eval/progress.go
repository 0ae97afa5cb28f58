package eval

import (
	"fmt"
	"time"

	"github.com/residua-go/residua/internal/cli"
)

// progress shows on a terminal how far a score has come, in one line that is drawn again; elsewhere nothing.
type progress struct {
	out   cli.Output
	what  string
	began time.Time
	next  time.Time
	shown bool
}

func newProgress(out cli.Output, what string) *progress {
	p := &progress{out: out, what: what, began: time.Now()}
	p.next = p.began.Add(2 * time.Second)
	return p
}

// show draws the line, from the second second on and five times a second at most.
func (p *progress) show(done, total int) {
	now := time.Now()
	if now.Before(p.next) || done == 0 || !p.out.Terminal() {
		return
	}
	p.next, p.shown = now.Add(200*time.Millisecond), true
	left := time.Duration(float64(now.Sub(p.began)) * float64(total-done) / float64(done)).Round(time.Second)
	fmt.Fprintf(p.out.Stderr, "\r\x1b[K%d/%d %s, %v left", done, total, p.what, left)
}

// end takes the line away.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.out.Stderr, "\r\x1b[K")
	}
}
