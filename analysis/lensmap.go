package analysis

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
)

// LensMap is the logit lens over all tokens of a run that have a successor in their row: the
// probability of that successor after each writer.
type LensMap struct {
	After       []string    `json:"after"`       // writers
	IDs         []int32     `json:"ids"`         // of all tokens
	Tokens      []int       `json:"tokens"`      // those that have a successor, the columns below
	Probability [][]float64 `json:"probability"` // [writer][column]
	Loss        [][]float64 `json:"loss"`        // -log probability, in nats
	Rank        [][]float64 `json:"rank"`        // of the successor, 0: the likeliest

	lens string         // "logit lens"
	top  [][]Prediction // of all tokens
}

// LensMap looks at all tokens that have a successor in their row through the logit lens. It returns
// an error if there is none.
func (d *Decomposition) LensMap() (*LensMap, error) {
	m := &LensMap{IDs: d.run.IDs, Tokens: d.run.WithSuccessor(), lens: d.lensName()}
	if len(m.Tokens) == 0 {
		return nil, check.Value("lens", "at least 2 tokens a row, so that one has a successor", d.run.Seq)
	}
	d.eachPoint(0, d.frozen.Tokens(), func(after string, features []float64) {
		m.After = append(m.After, after)
		d.addRow(m, features)
	})
	return m, nil
}

// lensChunk is the number of tokens whose logits are in memory at a time.
const lensChunk = 64

// addRow adds a row to each of m's lists: what the logits of features [T, F] say of the
// successors.
func (d *Decomposition) addRow(m *LensMap, features []float64) {
	var probability, loss, rank []float64
	var top []Prediction
	tokens := d.frozen.Tokens()
	width := len(features) / tokens
	for from := 0; from < tokens; from += lensChunk {
		n := min(lensChunk, tokens-from)
		logits, _ := d.run.Model().LogitsOf(features[from*width:][:n*width]) // [n, Vocab]
		for t := from; t < from+n; t++ {
			own := share(logits, n, t-from)
			logZ, likeliest := floats.LogSumExp(own), floats.MaxIdx(own)
			top = append(top, Prediction{likeliest, math.Exp(own[likeliest] - logZ)})
			if (t+1)%d.run.Seq == 0 {
				continue
			}
			next := int(d.run.IDs[t+1])
			nats := logZ - own[next]
			probability, loss, rank = append(probability, math.Exp(-nats)), append(loss, nats), append(rank, float64(rankOf(own, next)))
		}
	}
	m.Probability, m.Loss, m.Rank = append(m.Probability, probability), append(m.Loss, loss), append(m.Rank, rank)
	m.top = append(m.top, top)
}

// Table lists the mean loss and mean rank of the successors.
func (m *LensMap) Table() figure.Table {
	t := figure.NewTable(m.lens+" over all tokens", "lrr", "after", "mean loss in nats", "mean rank")
	for i, after := range m.After {
		t.Row(after, stat.Mean(m.Loss[i], nil), stat.Mean(m.Rank[i], nil))
	}
	return t
}

// Figures returns a map of the probabilities.
func (m *LensMap) Figures() []figure.Figure {
	h := figure.Heatmap{Title: lensTitle(m.lens) + ": probability of each token's successor", XLabel: "token", YLabel: "after",
		Rows: m.After, Columns: texts(m.Tokens), Values: m.Probability, Limits: unit()}
	return []figure.Figure{h}
}

// lensTitle returns the beginning of a figure's title: "Logit lens", also for "".
func lensTitle(lens string) string {
	lens = cmp.Or(lens, "logit lens")
	return strings.ToUpper(lens[:1]) + lens[1:]
}

// LensGrid holds what a lens says for every token of a run: the likeliest next token after
// each writer, with its probability (nostalgebraist 2020, the grid of layers and positions).
type LensGrid struct {
	After []string       `json:"after"` // writers
	IDs   []int32        `json:"ids"`   // of all tokens
	Top   [][]Prediction `json:"top"`   // [writer][token]
	// Spell says how to write a token in the table and the figure: by its id by default; a caller
	// who knows the texts may set it.
	Spell func(id int) string `json:"-"`

	lens string // as in LensMap
}

// Grid returns the likeliest next tokens, which LensMap has found in the same pass.
func (m *LensMap) Grid() *LensGrid {
	return &LensGrid{After: m.After, IDs: m.IDs, Top: m.top, Spell: strconv.Itoa, lens: m.lens}
}

// Last returns the grid of the last n tokens, or of all if there are no more.
func (g *LensGrid) Last(n int) *LensGrid {
	first := max(0, len(g.IDs)-n)
	last := &LensGrid{After: g.After, IDs: g.IDs[first:], Spell: g.Spell, lens: g.lens}
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
	h := figure.Heatmap{Title: lensTitle(g.lens) + ": the likeliest next token, by its probability", XLabel: "token", YLabel: "after",
		Rows: g.After, Limits: unit()}
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
