package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Wiring is the diagram of a whole model: who writes where, and who reads it. Its nodes are the
// embedding, the positions, every head and feed-forward, the aggregates of hierarchical
// aggregation (which write their hidden neurons' directions; what they read is not drawn) and
// the unembedding. An edge says how well the directions that one writes agree with those that
// a later one reads, by their virtual weights,
//
//	score = ||W_out M W_in|| / (||W_out|| ||W_in|| ||M|| / sqrt(D))
//
// which for single keys of a matrix stream is |cos|, measured against random weights, or keys,
// of the same shapes (Chance). In a stream of D dimensions random weights score about
// 1/sqrt(D), whatever their shapes: what stands out of that has been learned.
type Wiring struct {
	Stream string              `json:"stream"`
	Nodes  []figure.WiringNode `json:"nodes"` // in the order of the run, which gives Layer
	// Edges are those of a Z of Threshold or more, the largest Z first.
	Edges     []WiringEdge `json:"edges"`
	Pairs     int          `json:"pairs"` // of a writer and what a later node reads, kept or not
	Threshold float64      `json:"threshold"`
	// Z and Scores are of all pairs, writers down, readers across; NaN where the reader comes
	// first.
	Z      figure.Heatmap `json:"z"`
	Scores figure.Heatmap `json:"scores"`
}

// WiringEdge is a connection.
type WiringEdge struct {
	From   int    `json:"from"` // index of Wiring.Nodes
	To     int    `json:"to"`
	Via    string `json:"via,omitempty"` // "q", "k" or "v": as what attention reads it
	Writer string `json:"writer"`        // names, as Connect takes them
	Reader string `json:"reader"`
	Alignment
}

// WiringOptions vary Wire.
type WiringOptions struct {
	// Run says what becomes of writes in a stream that mixes them (VirtualWeights); nil: a
	// plain residual.
	Run *cache.Cache
	// Whole takes all heads of a layer for one node.
	Whole bool
	// Threshold is the Z from which on edges are kept; 0: 3.
	Threshold float64
	Draws     int    // of random weights, for each pair of shapes; 0: 1000
	Seed      uint64 // of the draws
}

// The defaults of WiringOptions.
const (
	defaultThreshold = 3
	defaultDraws     = 1000
)

func (o *WiringOptions) resolve() error {
	if o.Threshold == 0 {
		o.Threshold = defaultThreshold
	}
	if o.Draws == 0 {
		o.Draws = defaultDraws
	}
	if o.Draws < 2 {
		return check.Value("draws", fmt.Sprintf("at least 2, which have a deviation, or 0 for %d", defaultDraws), o.Draws)
	}
	return nil
}

// Wire measures all connections of a model.
func Wire(store *graph.Store, c models.Spec, o WiringOptions) (*Wiring, error) {
	if err := o.resolve(); err != nil {
		return nil, err
	}
	f, err := foldFor(AnalysisWiring, store, c)
	if err != nil {
		return nil, err
	}
	carry, err := newCarrier(f, o.Run)
	if err != nil {
		return nil, err
	}
	d := &wiringDraft{Wiring: &Wiring{Stream: f.c.Stream.Name(), Threshold: o.Threshold}, o: o, carry: carry, chances: map[[4]int]Chance{}}
	writers, readers := f.writers(o.Whole), f.readers(o.Whole)
	d.lay(writers, readers)
	for _, w := range writers {
		d.writers = append(d.writers, directionsOf(w))
	}
	for j, r := range readers {
		if err := d.connect(directionsOf(r), j); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(d.Edges, func(a, b WiringEdge) int { return cmp.Compare(b.Z, a.Z) })
	return d.Wiring, nil
}

// wiringDraft is a Wiring in the making.
type wiringDraft struct {
	*Wiring
	o       WiringOptions
	carry   *carrier
	writers []*directions
	rows    []int // of Z, by writer: that of its first part
	columns []int // of Z, by reader
	nodes   map[string]int
	chances map[[4]int]Chance
}

// lay sets out nodes and empty maps.
func (d *wiringDraft) lay(writers, readers []end) {
	d.Z = figure.Heatmap{Title: "Wiring: deviations above random weights", XLabel: "reads", YLabel: "writes", Diverging: true}
	for _, w := range writers {
		d.rows = append(d.rows, len(d.Z.Rows))
		for i := range w.parts {
			d.Z.Rows = append(d.Z.Rows, w.name(i))
		}
	}
	for _, r := range readers {
		d.columns = append(d.columns, len(d.Z.Columns))
		for i := range r.parts {
			d.Z.Columns = append(d.Z.Columns, r.name(i))
		}
	}
	d.Z.Values = blankMap(len(d.Z.Rows), len(d.Z.Columns))
	d.Scores = d.Z
	d.Scores.Title, d.Scores.Diverging = "Wiring: scores", false
	d.Scores.Values = blankMap(len(d.Z.Rows), len(d.Z.Columns))
	d.place(slices.Concat(writers, readers))
}

// place makes nodes of all parts of ends, in columns in the order of the run.
func (d *wiringDraft) place(ends []end) {
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	d.nodes = map[string]int{}
	layer := 0
	for i, e := range ends {
		if i > 0 && e.at > ends[i-1].at {
			layer++
		}
		for _, name := range e.parts {
			if _, known := d.nodes[name]; !known {
				d.nodes[name] = len(d.Nodes)
				d.Nodes = append(d.Nodes, figure.WiringNode{Name: name, Layer: layer})
			}
		}
	}
}

// connect measures what reader number j reads of all earlier writers.
func (d *wiringDraft) connect(r *directions, j int) error {
	for i, w := range d.writers {
		if w.at >= r.at {
			continue
		}
		maps, err := d.carry.between(w.end, r.end)
		if err != nil {
			return err
		}
		norms, size := productNorms(w, r, maps), maps.Gain(w.size)
		chance := d.chance(w.end, r.end)
		for a := range w.parts {
			for b := range r.parts {
				e := WiringEdge{From: d.nodes[w.parts[a]], To: d.nodes[r.parts[b]], Via: r.via, Writer: w.name(a), Reader: r.name(b),
					Alignment: align(norms.At(a, b), w.norms[a], r.norms[b], size, chance)}
				d.add(e, d.rows[i]+a, d.columns[j]+b)
			}
		}
	}
	return nil
}

// add puts a connection into the maps and, if it is strong enough, among the edges.
func (d *wiringDraft) add(e WiringEdge, row, column int) {
	d.Pairs++
	d.Z.Values[row][column], d.Scores.Values[row][column] = e.Z, e.Score
	if e.Z >= d.Threshold {
		d.Edges = append(d.Edges, e)
	}
}

// chance is that of a part of each of two ends.
func (d *wiringDraft) chance(w, r end) Chance {
	shape := [4]int{w.count / len(w.parts), w.size, r.size, r.count / len(r.parts)}
	if _, known := d.chances[shape]; !known {
		d.chances[shape] = DrawChance(shape[0], shape[1], shape[2], shape[3], d.o.Draws, d.o.Seed)
	}
	return d.chances[shape]
}
