package analysis

import (
	"fmt"
	"strconv"

	"github.com/residua-go/residua/figure"
)

// LensGrid holds what the logit lens says for every token of a run: the likeliest next token after
// each writer, with its probability (nostalgebraist 2020, the grid of layers and positions).
type LensGrid struct {
	After []string       `json:"after"` // writers
	IDs   []int32        `json:"ids"`   // of all tokens
	Top   [][]Prediction `json:"top"`   // [writer][token]
	// Spell says how to write a token in the table and the figure: by its id by default; a caller
	// who knows the texts may set it.
	Spell func(id int) string `json:"-"`
}

// Grid returns the likeliest tokens of the same pass.
func (m *LensMap) Grid() *LensGrid {
	return &LensGrid{After: m.After, IDs: m.IDs, Top: m.top, Spell: strconv.Itoa}
}

// Last returns the grid of the last n tokens, or of all if there are no more.
func (g *LensGrid) Last(n int) *LensGrid {
	first := max(0, len(g.IDs)-n)
	last := &LensGrid{After: g.After, IDs: g.IDs[first:], Spell: g.Spell}
	for _, row := range g.Top {
		last.Top = append(last.Top, row[first:])
	}
	return last
}

// Table has a row for each writer and a column for each token.
func (g *LensGrid) Table() figure.Table {
	t := figure.NewTable("likeliest next token", "l", "after")
	for _, id := range g.IDs {
		t.Header = append(t.Header, g.Spell(int(id)))
	}
	for i, after := range g.After {
		row := []string{after}
		for _, p := range g.Top[i] {
			row = append(row, fmt.Sprintf("%s %.2f", g.Spell(p.ID), p.Probability))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Figures returns the grid, coloured by the probability of the likeliest token.
func (g *LensGrid) Figures() []figure.Figure {
	h := figure.Heatmap{Title: "Logit lens: the likeliest next token, by its probability", XLabel: "token", YLabel: "after", Rows: g.After, Limits: unit()}
	for t := range g.IDs {
		h.Columns = append(h.Columns, fmt.Sprint(t))
	}
	for _, row := range g.Top {
		var values []float64
		var cells []string
		for _, p := range row {
			values, cells = append(values, p.Probability), append(cells, g.Spell(p.ID))
		}
		h.Values, h.Cells = append(h.Values, values), append(h.Cells, cells)
	}
	return []figure.Figure{h}
}

// unit returns colour limits for scores in [0, 1], the same for all models, so that their figures
// can be compared.
func unit() []float64 { return []float64{0, 1} }
