package analysis

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// end is where weights meet the stream: directions along which a site writes, or with which
// it reads, as rows [count, size]. Its parts (heads) have equal shares of the rows.
type end struct {
	site        string   // "embedding", "blocks.3.attention"
	via         string   // "q", "k", "v" of what attention reads
	parts       []string // names of the nodes, "blocks.3.attention.1"
	at          int      // in the order of the run: a write at i reaches a read at j > i
	count, size int
	weights     func() *mat.Dense // the rows: large models are not held all at once
	gram        func() *mat.Dense // rows^T rows [size, size], where the rows would take more memory; else nil
}

// The sites that are no sublayers.
const (
	embeddingSite   = "embedding"
	positionsSite   = "positions"
	unembeddingSite = "unembedding"
)

// The place of a site of block l in the order of the run, 0 being the tables'.
func attentionAt(l int) int   { return 3*l + 1 }
func feedForwardAt(l int) int { return 3*l + 2 }
func aggregateAt(l int) int   { return 3*l + 3 }

// name is that of a part: its node's, and for what attention reads q, k or v behind it.
func (e end) name(part int) string {
	if e.via == "" {
		return e.parts[part]
	}
	return e.parts[part] + "." + e.via
}

// alone is one part of an end.
func (e end) alone(part int) end {
	if len(e.parts) == 1 {
		return e
	}
	all := e
	e.weights = func() *mat.Dense { return all.part(all.weights(), part) }
	e.parts, e.count = e.parts[part:part+1], e.count/len(e.parts)
	return e
}

// attentionParts are the names of a layer's heads, or one for all.
func (f *Folded) attentionParts(layer int, whole bool) []string {
	name := siteName(layer, stream.Attention)
	if whole {
		return []string{name}
	}
	var names []string
	for h := range f.c.HeadCount() {
		names = append(names, fmt.Sprintf("%s.%d", name, h))
	}
	return names
}

// writers lists what writes to the stream along weights, in the order of the run: tables, heads
// (or the whole of attention), feed-forwards, the hidden neurons of aggregates. Self-dependency
// units, which write by a product of two readings, are not among them.
func (f *Folded) writers(whole bool) []end {
	ends := f.tableEnds()
	size := f.streamWidth()
	for l := range f.c.Layers {
		attention, feedForward := siteName(l, stream.Attention), siteName(l, stream.FeedForward)
		ends = append(ends,
			end{site: attention, parts: f.attentionParts(l, whole), at: attentionAt(l), count: f.attentionRows(), size: size,
				weights: func() *mat.Dense { _, o := f.attention(l); return o }},
			end{site: feedForward, parts: []string{feedForward}, at: feedForwardAt(l), count: f.feedForwardRows(), size: size,
				weights: func() *mat.Dense { _, out := f.feedForward(l); return out }})
		ends = append(ends, f.aggregateEnds(l)...)
	}
	return ends
}

// readers lists what reads the stream: queries, keys and values of heads (or of all heads),
// feed-forwards, the unembedding.
func (f *Folded) readers(whole bool) []end {
	var ends []end
	size := f.streamWidth()
	for l := range f.c.Layers {
		attention, feedForward := siteName(l, stream.Attention), siteName(l, stream.FeedForward)
		for i, via := range []string{"q", "k", "v"} {
			ends = append(ends, end{site: attention, via: via, parts: f.attentionParts(l, whole), at: attentionAt(l), count: f.attentionRows(), size: size,
				weights: func() *mat.Dense { in, _ := f.attention(l); return mat.DenseCopyOf(in[i].T()) }})
		}
		ends = append(ends, end{site: feedForward, parts: []string{feedForward}, at: feedForwardAt(l), count: f.feedForwardRows(), size: size,
			weights: func() *mat.Dense { in, _ := f.feedForward(l); return mat.DenseCopyOf(in.T()) }})
	}
	return append(ends, f.unembeddingEnd())
}

// feedForward is FeedForward of a layer that exists.
func (f *Folded) feedForward(layer int) (in, out *mat.Dense) {
	name := siteName(layer, stream.FeedForward)
	if f.isMatrix() {
		return mat.DenseCopyOf(f.foldedKeys(name+".read", name+".norm").T()), f.keys(name + ".write")
	}
	return f.foldedNeurons(layer)
}

// attentionRows is the number of directions that attention writes along: heads*Dh, or R.
func (f *Folded) attentionRows() int {
	if f.isMatrix() {
		return f.c.Rank
	}
	return f.c.HeadCount() * f.c.HeadDim()
}

// feedForwardRows is the number of directions that a feed-forward writes along, or reads
// with: its neurons, or R.
func (f *Folded) feedForwardRows() int {
	if f.isMatrix() {
		return f.c.Rank
	}
	return max(1, f.c.Experts) * f.c.FF
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

// unembeddingEnd is the unembedding [V, D] with the final norm folded in, of a virtual width
// network [V, n*d] with W_reduce; of a matrix stream the keys r_U [R, Dk].
func (f *Folded) unembeddingEnd() end {
	e := end{site: unembeddingSite, parts: []string{unembeddingSite}, at: aggregateAt(f.c.Layers), count: f.c.Vocab, size: f.c.DModel}
	if f.isMatrix() {
		e.count, e.size = f.c.Rank, f.c.Dk
		e.weights = func() *mat.Dense { return f.foldedKeys("read_unembedding", "norm") }
		return e
	}
	if f.c.Stream == models.StreamVWN {
		e.size = f.c.StreamSize()
	}
	e.weights = func() *mat.Dense { return mat.DenseCopyOf(f.leave().columns(f.unembedding()).T()) }
	e.gram = func() *mat.Dense { return f.leave().gramOfColumns(gramOfRows(f.unembedding())) }
	return e
}

// unembedding is W_unembed [F, V].
func (f *Folded) unembedding() *mat.Dense {
	return mat.NewDense(f.c.Width(), f.c.Vocab, f.model.UnembeddingWeights())
}

// find returns the one end, a part or whole, that has a name.
func find(what, name string, all ...[]end) (end, error) {
	var names []string
	for _, ends := range all {
		for _, e := range ends {
			for i := range e.parts {
				if e.name(i) == name {
					return e.alone(i), nil
				}
				names = append(names, e.name(i))
			}
		}
	}
	return end{}, unknownName(what, name, slices.Compact(names))
}
