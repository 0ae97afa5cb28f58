package analysis_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/residua-go/residua/analysis/page"
	"github.com/residua-go/residua/figure"
)

// oddTokens are tokens, some of them odd.
var oddTokens = []string{"Once", " upon", " a", " time", ",", " there", " was", "\n", "</script><b>", "<!--", "\u2028", "中文", "\xff", ""}

// hostileText is a text that ends the page's script if it isn't escaped.
const hostileText = `</script><b>bold</b><script>throw new Error("ran")</script>`

// smallPage has every kind with known values: what the tests point at.
func smallPage() page.Page {
	return page.Page{
		Title: "All kinds of figures " + hostileText, Subtitle: "with known values",
		Sections: []page.Section{
			{Heading: "Matrices", Text: "The first\nparagraph.\n\nThe second " + hostileText,
				Figures: []figure.Figure{smallHeatmap(), indexHeatmap(20, 40), wordedHeatmap()}},
			{Heading: "Charts", Figures: []figure.Figure{smallLines(), powerLines(), smallBars()}},
			{Heading: "Attention", Figures: []figure.Figure{smallAttention()}},
			{Heading: "Wiring", Figures: []figure.Figure{smallWiring(), layeredWiring(4, 4)}},
			{Heading: "Tables", Figures: []figure.Figure{smallTable()}},
		},
	}
}

func smallHeatmap() figure.Heatmap {
	return figure.Heatmap{
		Title: "Direct attribution", XLabel: "token", YLabel: "writer", Diverging: true,
		Rows: []string{"embedding", "L0 head 0", "L0 feed-forward"}, Columns: oddTokens[:6],
		Values: [][]float64{{0.5, -1, 2, 0.25, 0, 1}, {1, 2, -3.25, 4, math.NaN(), -2}, {-0.125, 3, 1, -1, 2, 0.75}},
	}
}

// wordedHeatmap is a heatmap of cells with texts.
func wordedHeatmap() figure.Heatmap {
	return figure.Heatmap{Title: "The likeliest token", XLabel: "token", YLabel: "after", Rows: []string{"embedding", "unembedding"}, Columns: oddTokens[:2],
		Values: [][]float64{{0.25, 0.1}, {1, math.NaN()}}, Limits: []float64{0, 1}, Cells: [][]string{{" the", hostileText}, {"<b>", ""}}}
}

// indexHeatmap is a heatmap of indices.
func indexHeatmap(rows, columns int) figure.Heatmap {
	h := figure.Heatmap{Title: "A map of indices", XLabel: "position", YLabel: "layer", Limits: []float64{-2, 2}}
	for i := range rows {
		h.Values = append(h.Values, nil)
		for j := range columns {
			h.Values[i] = append(h.Values[i], math.Sin(0.3*float64(i))*math.Cos(0.2*float64(j)))
		}
	}
	return h
}

func smallLines() figure.Lines {
	falling := figure.Series{Name: "training"}
	marks := figure.Series{Name: "measured " + hostileText, Points: true}
	for i := range 50 {
		x := float64(i)
		falling.X, falling.Y = append(falling.X, x), append(falling.Y, 4*math.Exp(-x/12)+1)
		if i%5 == 0 {
			marks.X, marks.Y, marks.Error = append(marks.X, x), append(marks.Y, 4.4*math.Exp(-x/12)+1.1), append(marks.Error, 0.3)
		}
	}
	falling.Y[20] = math.NaN()
	return figure.Lines{Title: "Loss", XLabel: "step", YLabel: "loss (nats)", Series: []figure.Series{falling, marks}}
}

// powerLines is a power law on logarithmic axes.
func powerLines() figure.Lines {
	s := figure.Series{Name: "N^-0.2"}
	for i := range 25 {
		n := math.Pow(10, 3+float64(i)/4)
		s.X, s.Y = append(s.X, n), append(s.Y, math.Pow(1e9/n, 0.2))
	}
	return figure.Lines{Title: "A power law", XLabel: "parameters", YLabel: "loss", LogX: true, LogY: true, Series: []figure.Series{s}}
}

func smallBars() figure.Bars {
	return figure.Bars{Title: "Direct logit attribution", YLabel: "logit", Labels: []string{" the", "L0 head 3", "feed-forward", hostileText, "none"}, Errors: []float64{0.5, 0, 0, 0, 0}, Values: []float64{3, -1.5, 0.75, 0.001, math.NaN()}}
}

// smallAttention has three heads: one attends to the token before, one to all alike, one to the
// first.
func smallAttention() figure.Attention {
	a := figure.Attention{Title: "Patterns of block 0", Tokens: oddTokens, Heads: []string{"previous", "uniform", "first"}}
	for range a.Heads {
		a.Patterns = append(a.Patterns, make([][]float64, len(oddTokens)))
	}
	for q := range oddTokens {
		previous, uniform, first := make([]float64, len(oddTokens)), make([]float64, len(oddTokens)), make([]float64, len(oddTokens))
		previous[max(0, q-1)] += 0.75
		previous[q] += 0.25
		for k := range q + 1 {
			uniform[k] = 1 / float64(q+1)
		}
		first[0] += 0.9
		first[q] += 0.1
		a.Patterns[0][q], a.Patterns[1][q], a.Patterns[2][q] = previous, uniform, first
	}
	return a
}

func smallWiring() figure.Wiring {
	return figure.Wiring{
		Title: "A few wires",
		Nodes: []figure.WiringNode{{Name: "embedding"}, {Name: "L0 head 0", Layer: 1}, {Name: "L0 head 1", Layer: 1}, {Name: "L1 head 0", Layer: 2}, {Name: "unembedding", Layer: 3}},
		Edges: []figure.WiringEdge{{From: 0, To: 1, Weight: 1}, {From: 0, To: 2, Weight: -2}, {From: 1, To: 3, Weight: 0.1}, {From: 2, To: 3, Weight: 1.5}, {From: 3, To: 4, Weight: 0.3}, {From: 0, To: 4, Weight: math.NaN()}, {From: 2, To: 1, Weight: 0.8}},
	}
}

// layeredWiring is a wiring of heads that all later layers read.
func layeredWiring(layers, heads int) figure.Wiring {
	r := rand.New(rand.NewPCG(1, 2))
	w := figure.Wiring{Title: "Virtual weights", Nodes: []figure.WiringNode{{Name: "embedding"}}}
	for l := range layers {
		for h := range heads {
			w.Nodes = append(w.Nodes, figure.WiringNode{Name: fmt.Sprintf("L%d head %d", l, h), Layer: 2*l + 1})
		}
		w.Nodes = append(w.Nodes, figure.WiringNode{Name: fmt.Sprintf("L%d feed-forward", l), Layer: 2*l + 2})
	}
	w.Nodes = append(w.Nodes, figure.WiringNode{Name: "unembedding", Layer: 2*layers + 1})
	for i, from := range w.Nodes {
		for j, to := range w.Nodes {
			if from.Layer < to.Layer {
				w.Edges = append(w.Edges, figure.WiringEdge{From: i, To: j, Weight: math.Pow(r.NormFloat64(), 3)})
			}
		}
	}
	return w
}

func smallTable() figure.Table {
	return figure.Table{Title: "Strongest edges", Header: []string{"writes", "reads", "score"}, Align: "llr", Rows: [][]string{{"L0 head 0", "L1 head 0", "0.125"}, {hostileText, "L1 head 1", "-12.5"}},
		Note: "score: < 1"}
}
