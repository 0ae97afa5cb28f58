package analysis

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// siteAccess is one way into or out of the stream: what a site reads with or writes by, as
// directions [D, m] of the stream, columns; for a matrix stream of key space, [Dk, m].
type siteAccess struct {
	site  string
	at    int // in the order of the run: a write at i reaches a read at j > i
	reads bool
	w     func() mat.Matrix // reads the weights: large models are not held all at once
}

// accesses lists a model's reads and writes in the order of the run: the tables first, the
// unembedding last.
func (r *siteReader) accesses() []siteAccess {
	all := r.tableAccesses()
	for l := range r.c.Layers {
		for i, kind := range []stream.Kind{stream.Attention, stream.FeedForward} {
			name, at := siteName(l, kind), 4*l+2*i+1
			all = append(all, siteAccess{name, at, true, func() mat.Matrix { return r.readBy(l, kind) }},
				siteAccess{name, at + 1, false, func() mat.Matrix { return r.writtenBy(l, kind) }})
		}
	}
	return append(all, r.lastAccess()...)
}

// readBy are the directions [D, m], or keys [Dk, m], that a site reads with.
func (r *siteReader) readBy(layer int, kind stream.Kind) mat.Matrix {
	name := siteName(layer, kind)
	switch {
	case r.isMatrix():
		return r.foldedKeys(name+".read", name+".norm").T()
	case kind == stream.Attention:
		qkv, _ := r.heads(layer)
		return qkv
	}
	w1, _ := r.foldedNeurons(layer)
	return w1
}

// writtenBy are the directions [D, m], or keys [Dk, m], that a site writes along.
func (r *siteReader) writtenBy(layer int, kind stream.Kind) mat.Matrix {
	name := siteName(layer, kind)
	switch {
	case r.isMatrix():
		return r.keys(name + ".write").T()
	case kind == stream.Attention:
		_, o := r.heads(layer)
		return o.T()
	}
	_, w2 := r.neurons(layer)
	return w2.T()
}

// tableAccesses are the writes of the tables, as they stand: without muP's factor. Those of a virtual width network are as wide as
// its slots and no directions of what its sites read: none.
func (r *siteReader) tableAccesses() []siteAccess {
	if r.c.Stream == models.StreamVWN {
		return nil
	}
	var all []siteAccess
	for _, table := range []string{"embedding", "positions"} {
		if r.store.Param(table) == nil {
			continue
		}
		all = append(all, siteAccess{table, 0, false, func() mat.Matrix {
			if r.isMatrix() {
				return r.keys("write_" + table).T()
			}
			w := r.values(table)
			return mat.NewDense(len(w)/r.c.DModel, r.c.DModel, w).T()
		}})
	}
	return all
}

// lastAccess is the unembedding's read, with the final norm folded in.
func (r *siteReader) lastAccess() []siteAccess {
	if r.c.Stream == models.StreamVWN {
		return nil
	}
	return []siteAccess{{"unembedding", 4*r.c.Layers + 1, true, func() mat.Matrix {
		if r.isMatrix() {
			return r.foldedKeys("read_unembedding", "norm").T()
		}
		w := r.model.UnembeddingWeights()
		return r.fold(r.finalNorm(), mat.NewDense(r.c.DModel, len(w)/r.c.DModel, w))
	}}}
}

// finalNorm is the name of the norm in front of the unembedding: of hierarchical
// aggregation the last aggregate's.
func (r *siteReader) finalNorm() string {
	if r.c.Stream != models.StreamHierAgg {
		return "norm"
	}
	if r.c.SeparateAggregates {
		return fmt.Sprintf("blocks.%d.aggregate.norm", r.c.Layers-1)
	}
	return "aggregate.norm"
}
