package analysis

import (
	"fmt"

	"github.com/residua-go/residua/figure"
)

// drawnEdges is how many edges the picture of a wiring has, beyond which nothing is seen.
const drawnEdges = 300

// Table lists the strongest edges.
func (w *Wiring) Table() figure.Table {
	t := figure.Table{Title: w.title(), Header: []string{"writes", "reads", "score", "at random", "of chance", "p", "false discoveries", "carried"}, Align: "llrrrrrr"}
	for _, e := range w.Edges[:min(listed, len(w.Edges))] {
		t.Rows = append(t.Rows, []string{e.Writer, e.Reader, number(e.Score), number(e.Chance.RMS()),
			number(e.AboveChance()), fmt.Sprintf("%.2g", e.P), fmt.Sprintf("%.2g", e.FDR), number(e.Carry)})
	}
	return t
}

func (w *Wiring) title() string {
	return fmt.Sprintf("Wiring: %d of %d connections are stronger than random weights, at a false-discovery rate of %g%%", len(w.Edges), w.Pairs, 100*w.FDR)
}

// Diagram draws the edges, each pair of nodes by its strongest one, the 300 strongest of all:
// their weight is the score, times that of random weights.
func (w *Wiring) Diagram() figure.Wiring {
	d := figure.Wiring{Title: w.title() + "; weight: score, times that of random weights; to q, k and v of a head as one", Nodes: w.Nodes}
	seen := map[[2]int]bool{}
	for _, e := range w.Edges {
		pair := [2]int{e.From, e.To}
		if len(d.Edges) == drawnEdges {
			break
		}
		if !seen[pair] {
			seen[pair] = true
			d.Edges = append(d.Edges, figure.WiringEdge{From: e.From, To: e.To, Weight: e.AboveChance()})
		}
	}
	return d
}

// Figures are the diagram and maps of all connections.
func (w *Wiring) Figures() []figure.Figure {
	return []figure.Figure{w.Diagram(), w.Significance, w.Scores}
}
