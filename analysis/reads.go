package analysis

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/stream"
)

// Reads is the diagram of one token of one run: what each site reads from the stream, u, as a sum
// over the writers. Writer w contributes the share
//
//	share = <u_w, u> / <u, u>,   u = sum over w of u_w + Constant
//
// where u_w has been carried to the site with the coefficients of the run frozen
// (stream.Frozen.CarryTo), before the site's norm. The shares of a site add up to 1, except for
// the biases of norms on the way. The last site is the unembedding.
type Reads struct {
	Token int                 `json:"token"`
	Nodes []figure.WiringNode `json:"nodes"` // writers and sites
	Edges []figure.WiringEdge `json:"edges"` // from a writer to a site; the weight is the share
}

// Reads takes apart what all sites read for one token. If a site reads in several ways, as queries,
// keys and values, its shares are the means over these. It returns an error if there is no such
// token.
func (d *Decomposition) Reads(token int) (*Reads, error) {
	return d.readsOf(token, d.writtenWholly)
}

// ReadsByHead is like Reads, but has a node for each head of an attention that writes in heads,
// "blocks.3.attention.1". What the bias writes stays with the site's node.
func (d *Decomposition) ReadsByHead(token int) (*Reads, error) {
	return d.readsOf(token, func(w stream.Writer, token int) []writtenTerm {
		if w.Part != stream.HeadPart {
			return d.writtenWholly(w, token)
		}
		var terms []writtenTerm
		for part := range w.Parts {
			terms = append(terms, writtenTerm{stream.PartName(w.Name, w.Part, part), w.Source, d.written(w, part, token)})
		}
		if w.Bias != "" {
			terms = append(terms, writtenTerm{w.Name, w.Source, d.bias(w, token)})
		}
		return terms
	})
}

// writtenTerm holds what a node writes at a source of the stream.
type writtenTerm struct {
	node, source string
	y            []float64
}

func (d *Decomposition) writtenWholly(w stream.Writer, token int) []writtenTerm {
	return []writtenTerm{{w.Name, w.Source, d.wholly(w, token, 1)}}
}

func (d *Decomposition) readsOf(token int, written func(w stream.Writer, token int) []writtenTerm) (*Reads, error) {
	if err := d.checkToken(token); err != nil {
		return nil, err
	}
	r := &readsDraft{Reads: &Reads{Token: token}, nodes: map[string]int{}, ways: map[int]int{}}
	for _, w := range d.writers {
		r.terms = append(r.terms, written(w, token)...)
	}
	readers := d.frozen.Readers()
	for _, reader := range readers {
		site, _ := siteOf(reader)
		r.ways[r.node(site)]++
	}
	for column, reader := range readers {
		site, _ := siteOf(reader)
		u, _ := d.frozen.ConstantTo(reader, token) // of one of its own readers
		r.read(site, column+1, u, func(w writtenTerm) []float64 {
			part, _ := d.frozen.CarryTo(w.source, reader, token, w.y)
			if part != nil {
				floats.Add(u, part)
			}
			return part
		})
	}
	end, _ := d.Output(token)
	r.ways[r.node(stream.Unembedding)] = 1
	r.read(stream.Unembedding, len(readers)+1, end, func(w writtenTerm) []float64 {
		part, _ := d.frozen.Carry(w.source, token, w.y)
		return part
	})
	r.place(len(readers))
	return r.Reads, nil
}

// readsDraft collects a Reads.
type readsDraft struct {
	*Reads
	terms []writtenTerm
	nodes map[string]int
	ways  map[int]int // the number of readers that a node stands for
}

// node returns the index of the named node, which it adds if it is new.
func (r *readsDraft) node(name string) int {
	i, known := r.nodes[name]
	if !known {
		i = len(r.Nodes)
		r.nodes[name] = i
		r.Nodes = append(r.Nodes, figure.WiringNode{Name: name, Layer: -1})
	}
	return i
}

// read adds the edges to a node, which is in the given column. part returns what a writer's
// term contributes to u, the vector that the node reads, or nil if the term comes later. u need
// not be complete before part has been called with each term.
func (r *readsDraft) read(node string, column int, u []float64, part func(writtenTerm) []float64) {
	parts := make([][]float64, len(r.terms))
	for i, w := range r.terms {
		parts[i] = part(w)
	}
	to := r.node(node)
	r.Nodes[to].Layer = max(r.Nodes[to].Layer, column)
	size := floats.Dot(u, u)
	if size == 0 {
		return
	}
	for i, w := range r.terms {
		if parts[i] != nil {
			r.add(r.node(w.node), to, floats.Dot(parts[i], u)/size/float64(r.ways[to]))
		}
	}
}

// add adds to the weight of an edge.
func (r *readsDraft) add(from, to int, weight float64) {
	for i, e := range r.Edges {
		if e.From == from && e.To == to {
			r.Edges[i].Weight += weight
			return
		}
	}
	r.Edges = append(r.Edges, figure.WiringEdge{From: from, To: to, Weight: weight})
}

// place puts writers that are not sites into columns: before the first site that reads them.
func (r *readsDraft) place(readers int) {
	for i := range r.Nodes {
		if r.Nodes[i].Layer >= 0 {
			continue
		}
		first := readers + 1
		for _, e := range r.Edges {
			if e.From == i && r.Nodes[e.To].Layer >= 0 {
				first = min(first, r.Nodes[e.To].Layer)
			}
		}
		r.Nodes[i].Layer = first - 1
	}
}

// Figure draws the diagram.
func (r *Reads) Figure() figure.Wiring {
	return figure.Wiring{Title: fmt.Sprintf("What each site reads at token %d, by who wrote it", r.Token), Nodes: r.Nodes, Edges: r.Edges}
}
