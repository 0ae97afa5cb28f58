package analysis

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// end is where weights meet the stream: directions along which a site writes, or with which
// it reads, as rows [count, size]. Its parts (heads) have equal shares of the rows.
type end struct {
	site        string   // "embedding", "blocks.3.attention"
	reads       bool     // else it writes
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

// wholeGram is the Gram matrix [size, size] of all rows.
func (e end) wholeGram() *mat.Dense {
	if e.gram != nil {
		return e.gram()
	}
	return gramOfColumns(e.weights())
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
