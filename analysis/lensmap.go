package analysis

import (
	"fmt"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/figure"
)

// LensMap is the logit lens over all tokens of a run: the probability of each token's
// successor behind each writer.
type LensMap struct {
	After       []string    `json:"after"`       // writers
	IDs         []int32     `json:"ids"`         // of the tokens
	Probability [][]float64 `json:"probability"` // [writer][token but the last]
	Rank        [][]float64 `json:"rank"`        // of the successor, 0: the likeliest
}

// LensMap looks at all tokens but the last through the logit lens.
func (d *Decomposition) LensMap() (*LensMap, error) {
	n := d.held.Tokens() - 1
	if n < 1 {
		return nil, errors.Errorf("analysis: lens: want at least 2 tokens, so that one has a successor, got %d", d.held.Tokens())
	}
	m := &LensMap{IDs: d.run.IDs}
	err := d.eachPoint(func(after string, features func(token int) []float64) {
		m.After = append(m.After, after)
		probability, rank := make([]float64, n), make([]float64, n)
		for t := range n {
			p := d.lensPoint(after, features(t), int(d.run.IDs[t+1]))
			probability[t], rank[t] = p.Probability, float64(p.Rank)
		}
		m.Probability, m.Rank = append(m.Probability, probability), append(m.Rank, rank)
	})
	return m, err
}

// Table lists the mean log probability and mean rank of the successors.
func (m *LensMap) Table() figure.Table {
	t := figure.Table{Title: "logit lens over all tokens", Header: []string{"behind", "mean loss in nats", "mean rank"}, Align: "lrr"}
	for i, after := range m.After {
		loss, rank := 0.0, 0.0
		for j, p := range m.Probability[i] {
			loss -= math.Log(p)
			rank += m.Rank[i][j]
		}
		n := float64(len(m.Probability[i]))
		t.Rows = append(t.Rows, []string{after, number(loss / n), number(rank / n)})
	}
	return t
}

// Figures is the map of probabilities.
func (m *LensMap) Figures() []figure.Figure {
	h := figure.Heatmap{Title: "Logit lens: probability of each token's successor", XLabel: "token", YLabel: "behind", Rows: m.After, Values: m.Probability}
	for i := range m.IDs[:len(m.IDs)-1] {
		h.Columns = append(h.Columns, fmt.Sprint(i))
	}
	return []figure.Figure{h}
}
