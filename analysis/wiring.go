package analysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Wiring is the diagram of a whole model: who writes where, and who reads it. Its nodes are the
// embedding, the positions, every head and feed-forward, the aggregates of hierarchical aggregation
// (which write their hidden neurons' directions; what they read is not drawn) and the unembedding.
// An edge says how well the directions that one node writes agree with the directions that a later
// one reads, by their virtual weights,
//
//	score = ||W_out M W_in|| / (||W_out|| ||W_in|| ||M|| / sqrt(D))
//
// Unrelated weights score about 1/sqrt(D), where D is the number of dimensions of the stream,
// Dk*Dv for a matrix stream (Chance). An edge is a score that unrelated weights hardly ever reach:
// of all pairs of a writer and what a later node reads, Wire keeps those with the smallest
// p-values, as many as keep the expected share of edges by chance at FDR (Benjamini & Hochberg
// 1995, "Controlling the false discovery rate"). The procedure holds for p-values that are
// independent or positively dependent; p-values of pairs that share weights are not quite either.
type Wiring struct {
	Stream string              `json:"stream"`
	Nodes  []figure.WiringNode `json:"nodes"` // in the order of the run, which gives Layer
	// Edges are the connections that are kept, the smallest P first.
	Edges []WiringEdge `json:"edges"`
	Pairs int          `json:"pairs"` // of a writer and what a later node reads, kept or not
	FDR   float64      `json:"fdr"`   // the false-discovery rate of Edges
	// Significance maps -log10 P, and Scores the scores, of all pairs: a row for each writer and a
	// column for each reader, NaN where the reader comes first.
	Significance figure.Heatmap `json:"significance"`
	Scores       figure.Heatmap `json:"scores"`
}

// WiringEdge is a connection.
type WiringEdge struct {
	From   int    `json:"from"` // index of Wiring.Nodes
	To     int    `json:"to"`
	Via    string `json:"via,omitempty"` // "q", "k" or "v": as what attention reads it
	Writer string `json:"writer"`        // names, as Connect takes them
	Reader string `json:"reader"`
	Alignment
	// FDR is the smallest false-discovery rate at which the edge is kept.
	FDR float64 `json:"fdr"`
}

// WiringOptions vary Wire.
type WiringOptions struct {
	// Run says what becomes of writes in a stream that mixes them (VirtualWeights); nil: a
	// plain residual.
	Run *cache.Cache
	// Whole makes all heads of a layer one node.
	Whole bool `yaml:"whole" help:"treat all heads of a layer as one"`
	// FDR is the false-discovery rate of the edges, above 0; 1 keeps all. 0: 0.05.
	FDR float64 `yaml:"fdr" default:"0.05" min:"1e-6" max:"1" help:"keep connections up to a false-discovery rate (share of false ones) of <Q>"`
}

const defaultFDR = 0.05

func (o *WiringOptions) resolve() error {
	o.FDR = cmp.Or(o.FDR, defaultFDR)
	if !(o.FDR > 0 && o.FDR <= 1) {
		return check.Valuef("fdr", o.FDR, "a rate above 0, at most 1, or 0 for %g", defaultFDR)
	}
	return nil
}

// Wire measures all connections of a model.
func Wire(ctx context.Context, store *graph.Store, spec models.Spec, o WiringOptions) (*Wiring, error) {
	if err := o.resolve(); err != nil {
		return nil, err
	}
	f, err := foldFor(store, spec, o.Run)
	if err != nil {
		return nil, err
	}
	d := &wiringDraft{Wiring: &Wiring{Stream: f.c.Stream.Name(), FDR: o.FDR}, writers: f.writers(o.Whole), readers: f.readers(o.Whole)}
	d.Significance = figure.Heatmap{Title: "Wiring: -log10 of the p-value against random weights", XLabel: "reads", YLabel: "writes"}
	d.Scores = figure.Heatmap{Title: "Wiring: scores", XLabel: "reads", YLabel: "writes"}
	d.place(slices.Concat(d.writers, d.readers))
	var writers []*directions
	for _, w := range d.writers {
		writers = append(writers, directionsOf(w))
	}
	for _, r := range d.readers { // one reader at a time, because weights take memory
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := d.connect(f.carry, writers, directionsOf(r)); err != nil {
			return nil, err
		}
	}
	d.discover()
	return d.Wiring, nil
}

// wiringDraft collects a Wiring: at first Edges holds all pairs.
type wiringDraft struct {
	*Wiring
	writers, readers []end
	nodes            map[string]int
}

// place adds a node for each part of the ends, with columns in the order of the run.
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

// connect measures what a reader reads of all earlier writers.
func (d *wiringDraft) connect(carry *carrier, writers []*directions, r *directions) error {
	for _, w := range writers {
		if w.at >= r.at {
			continue
		}
		all, err := carry.align(w, r)
		if err != nil {
			return err
		}
		for a, row := range all {
			for b, alignment := range row {
				d.Edges = append(d.Edges, WiringEdge{From: d.nodes[w.parts[a]], To: d.nodes[r.parts[b]], Via: r.via, Writer: w.name(a), Reader: r.name(b),
					Alignment: alignment})
				d.Significance.Set(w.name(a), r.name(b), min(mostSignificant, -math.Log10(alignment.P)))
				d.Scores.Set(w.name(a), r.name(b), alignment.Score)
			}
		}
	}
	return nil
}

// mostSignificant bounds -log10 P: smaller probabilities are 0 in float64.
const mostSignificant = 300

// discover keeps the edges at the false-discovery rate. With p-values p_1 <= p_2 <= ... of m pairs,
// edge i's own rate is the least of m p_k / k over k >= i (Benjamini & Hochberg 1995).
func (d *wiringDraft) discover() {
	d.Pairs = len(d.Edges)
	slices.SortStableFunc(d.Edges, func(a, b WiringEdge) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.AboveChance(), a.AboveChance()))
	})
	rate := 1.0
	for i := d.Pairs - 1; i >= 0; i-- {
		rate = min(rate, d.Edges[i].P*float64(d.Pairs)/float64(i+1))
		d.Edges[i].FDR = rate
	}
	kept, _ := slices.BinarySearchFunc(d.Edges, d.FDR, func(e WiringEdge, rate float64) int {
		if e.FDR <= rate {
			return -1
		}
		return 1
	})
	d.Edges = d.Edges[:kept]
}

// Table lists the strongest edges.
func (w *Wiring) Table() figure.Table {
	t := figure.NewTable(w.title(), "llrrrrrr",
		"writes", "reads", "score", "at random", "times random", "p", "false discoveries", "carried")
	t.Note = "score: how well what one writes and the other reads agree, from 0 to 1; at random: the score (root mean\n" +
		"square) of the same weights rotated at random; times random: the one divided by the other. p: the\n" +
		"probability of such a score by chance. false discoveries: the share of connections up to this row that may\n" +
		"be there by chance. carried: how large a write still is where it is read; 1 where the stream only adds."
	for _, e := range w.Edges[:min(listed, len(w.Edges))] {
		t.Row(e.Writer, e.Reader, e.Score, e.Chance.rms(),
			e.AboveChance(), fmt.Sprintf("%.2g", e.P), fmt.Sprintf("%.2g", e.FDR), e.Carry)
	}
	return t
}

func (w *Wiring) title() string {
	return fmt.Sprintf("Wiring: %d of %d connections are stronger than random weights, at a false-discovery rate of %g%%", len(w.Edges), w.Pairs, 100*w.FDR)
}

// Diagram draws the edges. Edges to q, k and v of a head are drawn as one that names them. An
// edge's weight is its score as a multiple of the score of random weights, the largest if there are
// several.
func (w *Wiring) Diagram() figure.Wiring {
	d := figure.Wiring{Title: w.title() + "; weight: score, times that of random weights", Nodes: w.Nodes}
	at := map[[2]int]int{}
	for _, e := range w.Edges {
		pair := [2]int{e.From, e.To}
		i, known := at[pair]
		if !known {
			i = len(d.Edges)
			at[pair] = i
			d.Edges = append(d.Edges, figure.WiringEdge{From: e.From, To: e.To, Weight: e.AboveChance(), Via: e.Via})
			continue
		}
		d.Edges[i].Weight = max(d.Edges[i].Weight, e.AboveChance())
		d.Edges[i].Via += ", " + e.Via
	}
	return d
}

// Figures are the diagram and maps of all connections.
func (w *Wiring) Figures() []figure.Figure {
	return []figure.Figure{w.Diagram(), w.Significance, w.Scores}
}
