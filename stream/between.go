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

// Accesses lists everything that writes or reads, in the order of the run, with the end last.
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

// Up returns the map by which a source writes to the state.
func (f *Frozen) Up(source string) (linear.Map, error) {
	i, err := f.source(source)
	if err != nil {
		return nil, err
	}
	return f.sources[i].up, nil
}

// After returns the maps between what a site reads and the block's input, or between the end and
// the features, with norms at scale 1: a norm, and weights or keys if they belong to the stream. It
// returns nil if what follows is not linear, and an error if there is no such site.
func (f *Frozen) After(reader string) (linear.Chain, error) {
	t, _, err := f.readPoint(reader)
	if err != nil || t.after == nil {
		return nil, err
	}
	maps, _ := t.after(nil)
	return maps, nil
}

// Between returns the maps that take what a source writes to what a site, or the end, reads: the
// source's map, the steps, and the reader's map. It returns nil if the source comes after the
// reader, and an error if either does not exist.
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

// readPoint finds a reader, and its number.
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
