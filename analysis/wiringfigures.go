package analysis

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// Table lists the strongest edges.
func (w *Wiring) Table() figure.Table {
	t := figure.NewTable(w.title(), "llrrrrrr",
		"writes", "reads", "score", "at random", "times random", "p", "false discoveries", "carried")
	t.Note = "score: how well what one writes and the other reads agree, from 0 to 1; at random: the score (root mean\n" +
		"square) of the same weights rotated at random; times random: the one divided by the other. p: the\n" +
		"probability of such a score by chance. false discoveries: the share of connections up to this row that may\n" +
		"be there by chance. carried: how large a write still is where it is read; 1 where the stream only adds."
	for _, e := range w.Edges[:min(listed, len(w.Edges))] {
		t.Row(e.Writer, e.Reader, e.Score, e.Chance.RMS(),
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
