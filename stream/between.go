package stream

import (
	"slices"

	"github.com/residua-go/residua/stream/linear"
)

// Unembedding is the name under which Accesses, After and Between list the last reader of a stream,
// the model's unembedding.
const Unembedding = "unembedding"

// Access is a source that writes to the stream, or a site that reads it.
type Access struct {
	Name  string
	Reads bool
}

// Accesses lists all that writes or reads in the order of the run, the end last.
func (f *Frozen) Accesses() []Access {
	var all []Access
	for i := range len(f.reads) + 1 {
		for _, s := range f.sources {
			if s.reads == i {
				all = append(all, Access{s.name, false})
			}
		}
		if i < len(f.reads) {
			all = append(all, Access{f.reads[i].name, true})
		}
	}
	return append(all, Access{Unembedding, true})
}

// Up is how a source writes to the state.
func (f *Frozen) Up(source string) (linear.Map, error) {
	i, err := f.source(source)
	if err != nil {
		return nil, err
	}
	return f.sources[i].up, nil
}

// After are the maps between what a site reads and its block, or the end and the features,
// norms at scale 1: a norm, and weights or keys where they are the stream's own. It is nil where
// what follows is not linear, and an error if no such site reads.
func (f *Frozen) After(reader string) (linear.Chain, error) {
	t, _, err := f.readPoint(reader)
	if err != nil || t.after == nil {
		return nil, err
	}
	maps, _ := t.after(nil)
	return maps, nil
}

// Between are the maps by which what enters at a source comes to what a site, or the end,
// reads: the source's own, steps, the reader's. It is nil where the source comes after the
// reader, and an error if one of them there is not.
func (f *Frozen) Between(source, reader string) (linear.Chain, error) {
	from, err := f.source(source)
	if err != nil {
		return nil, err
	}
	s := f.sources[from]
	t, i, err := f.readPoint(reader)
	if err != nil || s.reads > i {
		return nil, err
	}
	return slices.Concat(linear.Chain{s.up}, f.steps[s.at:t.at], linear.Chain{t.down}), nil
}

// readPoint finds what reads, and its number.
func (f *Frozen) readPoint(name string) (readPoint, int, error) {
	if name == Unembedding {
		return f.output, len(f.reads), nil
	}
	i, err := f.readerIndex(name)
	if err != nil {
		return readPoint{}, 0, err
	}
	return f.reads[i], i, nil
}
