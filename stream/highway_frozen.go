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

// Freeze is the identity from every site and unit to the end: a unit's gate is part of its
// term.
func (h *highway) Freeze(r Record) (*Frozen, error) { return h.freeze(r), nil }

// Static is Freeze: nothing depends on a run.
func (h *highway) Static() *Frozen { return h.freeze(nil) }

func (h *highway) freeze(r Record) *Frozen {
	return h.Vector.freeze(r, func(frozen *Frozen, site Site) {
		frozen.Write(site.Name()+".sdu", linear.Identity(h.c.D))
	})
}
