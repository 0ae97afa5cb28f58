package stream

import "github.com/residua-go/residua/stream/linear"

// Writers are a vector stream's and the self-dependency units'.
func (h *highway) Writers() []Writer {
	writers := h.Vector.Writers()
	for l := range h.c.Layers {
		for _, site := range h.Sites(l) {
			name := site.Name() + ".sdu"
			writers = append(writers, Writer{Name: name, Parts: 1, Activation: name, Reads: 2 * h.c.D, Source: name})
		}
	}
	return writers
}

// Hold is the identity from every site and unit to the end: a unit's gate is part of its
// term.
func (h *highway) Hold(r Record) (*Held, error) { return h.hold(r), nil }

// Static is Hold: nothing depends on a run.
func (h *highway) Static() *Held { return h.hold(nil) }

func (h *highway) hold(r Record) *Held {
	return h.Vector.hold(r, func(held *Held, site Site) {
		held.Enter(site.Name()+".sdu", linear.Identity(h.c.D))
	})
}
