package distributed

import "time"

// Span tells when a collective was under way. A collective of two exchanges, such as AllReduce,
// has two spans.
type Span struct {
	What    string
	Started time.Time // when it was called
	Begun   time.Time // when its first message was
	Done    time.Time
}

// Trace returns the spans of collectives that are done, in the order in which they ended, if
// Options.Trace asked for them.
func (g *Group) Trace() []Span {
	g.traceMu.Lock()
	defer g.traceMu.Unlock()
	return append([]Span(nil), g.trace...)
}

func (g *Group) record(s Span) {
	if !g.options.Trace {
		return
	}
	g.traceMu.Lock()
	defer g.traceMu.Unlock()
	g.trace = append(g.trace, s)
}
