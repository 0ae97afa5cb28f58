package analysis

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// writers lists what writes to the stream along weights, in the order of the run: tables, heads
// (or the whole of attention), feed-forwards, the hidden neurons of aggregates. Self-dependency
// units, which write by a product of two readings, are not among them.
func (f *Folded) writers(whole bool) []end {
	ends := f.tableEnds()
	for l := range f.c.Layers {
		ends = append(ends, f.attentionWriter(l, whole), f.feedForwardWriter(l))
		ends = append(ends, f.aggregateEnds(l)...)
	}
	return ends
}

// readers lists what reads the stream: queries, keys and values of heads (or of all heads),
// feed-forwards, the unembedding.
func (f *Folded) readers(whole bool) []end {
	var ends []end
	for l := range f.c.Layers {
		ends = append(ends, f.attentionReaders(l, whole)...)
		ends = append(ends, f.feedForwardReader(l))
	}
	return append(ends, f.unembeddingEnd(f.leave()))
}

// accesses lists the reads and writes of whole sites, in the order of the run, a site's read
// before its write: of attention queries, keys and values together. The unembedding has the
// last norm folded in, also where that is an aggregate's. A virtual width network's tables and
// unembedding are as wide as its slots, and in another space than what its sites read: they
// are left out, and so are aggregates, which read more than the stream.
func (f *Folded) accesses() []end {
	tables, last := f.tableEnds(), []end{f.unembeddingEnd(f.leave())}
	switch f.c.Stream {
	case models.StreamVWN:
		tables, last = nil, nil
	case models.StreamHierAgg:
		last = []end{f.unembeddingEnd(rowMaps{f.norm(f.aggregateNorm(f.c.Layers - 1))})}
	}
	all := tables
	for l := range f.c.Layers {
		all = append(all, f.attentionReader(l), f.attentionWriter(l, true), f.feedForwardReader(l), f.feedForwardWriter(l))
	}
	return append(all, last...)
}

// attentionEnd is one of attention's ends but for its weights: of a layer's heads or, whole, of
// all together.
func (f *Folded) attentionEnd(layer int, whole bool) end {
	name := siteName(layer, stream.Attention)
	e := end{site: name, parts: []string{name}, at: attentionAt(layer), count: f.attentionRows(), size: f.streamWidth()}
	if !whole {
		e.parts = f.headNames(layer)
	}
	return e
}

// headNames are the names of a layer's heads.
func (f *Folded) headNames(layer int) []string {
	var names []string
	for h := range f.c.HeadCount() {
		names = append(names, headName(layer, h))
	}
	return names
}

func (f *Folded) attentionWriter(layer int, whole bool) end {
	e := f.attentionEnd(layer, whole)
	e.weights = func() *mat.Dense { _, o := f.attention(layer); return o }
	return e
}

// attentionReader is all that attention reads: queries, keys and values, one after another.
func (f *Folded) attentionReader(layer int) end {
	e := f.attentionEnd(layer, true)
	e.reads, e.count = true, 3*e.count
	e.weights = func() *mat.Dense { qkv, _ := f.attention(layer); return mat.DenseCopyOf(qkv.T()) }
	return e
}

// attentionReaders are queries, keys and values.
func (f *Folded) attentionReaders(layer int, whole bool) []end {
	var ends []end
	for i, via := range []string{"q", "k", "v"} {
		e := f.attentionEnd(layer, whole)
		e.reads, e.via = true, via
		from, to := i*e.count, (i+1)*e.count
		e.weights = func() *mat.Dense {
			qkv, _ := f.attention(layer)
			return mat.DenseCopyOf(qkv.Slice(0, e.size, from, to).T())
		}
		ends = append(ends, e)
	}
	return ends
}

// feedForwardEnd is one of a feed-forward's ends but for its weights.
func (f *Folded) feedForwardEnd(layer int) end {
	name := siteName(layer, stream.FeedForward)
	return end{site: name, parts: []string{name}, at: feedForwardAt(layer), count: f.feedForwardRows(), size: f.streamWidth()}
}

func (f *Folded) feedForwardWriter(layer int) end {
	e := f.feedForwardEnd(layer)
	e.weights = func() *mat.Dense { _, out := f.feedForward(layer); return out }
	return e
}

func (f *Folded) feedForwardReader(layer int) end {
	e := f.feedForwardEnd(layer)
	e.reads = true
	e.weights = func() *mat.Dense { in, _ := f.feedForward(layer); return mat.DenseCopyOf(in.T()) }
	return e
}

// tableEnds are the embedding and the positions: the tables' rows, or the keys that store
// them.
func (f *Folded) tableEnds() []end {
	var ends []end
	for _, table := range []string{embeddingSite, positionsSite} {
		p := f.store.Param(table)
		if p == nil {
			continue
		}
		e := end{site: table, parts: []string{table}, count: p.Shape[0], size: p.Size() / p.Shape[0], weights: func() *mat.Dense { return f.table(table) }}
		if f.isMatrix() {
			e.count, e.size = f.c.Rank, f.c.Dk
			e.weights = func() *mat.Dense { return f.keys("write_" + table) }
		}
		ends = append(ends, e)
	}
	return ends
}

// table is a table's rows as they are looked up: [V, width].
func (f *Folded) table(name string) *mat.Dense {
	w := f.dense(name, f.store.Param(name).Shape[0])
	if name == embeddingSite && f.inputScale() != 1 {
		w.Scale(f.inputScale(), w)
	}
	return w
}

// aggregateEnds are the hidden neurons of an aggregate behind a block, if there is one.
func (f *Folded) aggregateEnds(layer int) []end {
	prefix := fmt.Sprintf("blocks.%d.", layer)
	var ends []end
	for _, w := range f.model.Writers() {
		if strings.HasPrefix(w.Name, prefix) && strings.HasSuffix(w.Name, ".aggregate") {
			ends = append(ends, end{site: w.Name, parts: []string{w.Name}, at: aggregateAt(layer), count: w.Parts, size: f.streamWidth(),
				weights: func() *mat.Dense { return f.dense(w.Weight, w.Parts) }})
		}
	}
	return ends
}

// unembeddingEnd is the unembedding [V, D] with what leads to it folded in, the final norm or
// all of Folded.leave: of a virtual width network [V, n*d] with W_reduce. Of a matrix stream it
// is the keys r_U [R, Dk].
func (f *Folded) unembeddingEnd(leave rowMaps) end {
	e := end{site: unembeddingSite, reads: true, parts: []string{unembeddingSite}, at: aggregateAt(f.c.Layers), count: f.c.Vocab, size: f.c.DModel}
	if f.isMatrix() {
		e.count, e.size = f.c.Rank, f.c.Dk
		e.weights = func() *mat.Dense { return f.foldedKeys("read_unembedding", "norm") }
		return e
	}
	if f.c.Stream == models.StreamVWN {
		e.size = f.c.StreamSize()
	}
	e.weights = func() *mat.Dense { return mat.DenseCopyOf(leave.columns(f.unembedding()).T()) }
	e.gram = func() *mat.Dense { return leave.gramOfColumns(gramOfRows(f.unembedding())) }
	return e
}

// unembedding is W_unembed [F, V].
func (f *Folded) unembedding() *mat.Dense {
	return mat.NewDense(f.c.Width(), f.c.Vocab, f.model.UnembeddingWeights())
}
