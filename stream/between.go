package stream

import (
	"slices"

	"github.com/residua-go/residua/stream/linear"
)

// AtEnd is the name, among what reads a stream, of the model's way out of it.
const AtEnd = "unembedding"

// Access is a source that writes to the stream, or a site that reads it.
type Access struct {
	Name  string
	Reads bool
}

// Accesses lists all that writes or reads in the order of the run, the end last.
func (h *Held) Accesses() []Access {
	var all []Access
	for i := range len(h.reads) + 1 {
		for _, s := range h.sources {
			if s.reads == i {
				all = append(all, Access{s.name, false})
			}
		}
		if i < len(h.reads) {
			all = append(all, Access{h.reads[i].name, true})
		}
	}
	return append(all, Access{AtEnd, true})
}

// Up is how a source writes to the state.
func (h *Held) Up(source string) (linear.Map, error) {
	s, err := h.source(source)
	return s.up, err
}

// After are the maps between what a site reads and its block, or the end and the features,
// norms at scale 1: a norm, and weights or keys where they are the stream's own. It is nil where
// what follows is not linear, and an error if no such site reads.
func (h *Held) After(reader string) (linear.Chain, error) {
	t, _, err := h.tap(reader)
	if err != nil || t.after == nil {
		return nil, err
	}
	maps, _ := t.after(nil)
	return maps, nil
}

// Between are the maps by which what enters at a source comes to what a site, or the end,
// reads: the source's own, steps, the reader's. It is nil where the source comes after the
// reader, and an error if one of them there is not.
func (h *Held) Between(source, reader string) (linear.Chain, error) {
	s, err := h.source(source)
	if err != nil {
		return nil, err
	}
	t, i, err := h.tap(reader)
	if err != nil || s.reads > i {
		return nil, err
	}
	return slices.Concat(linear.Chain{s.up}, h.steps[s.at:t.at], linear.Chain{t.down}), nil
}

// tap finds what reads, and its number.
func (h *Held) tap(name string) (tap, int, error) {
	if name == AtEnd {
		return h.end, len(h.reads), nil
	}
	i, err := h.reader(name)
	if err != nil {
		return tap{}, 0, err
	}
	return h.reads[i], i, nil
}
