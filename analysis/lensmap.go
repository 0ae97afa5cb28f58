package analysis

import (
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/analysis/check"
	"github.com/residua-go/residua/figure"
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

// addRow adds the logits' results for the successors, from features [T, F].
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

// Figures is the map of probabilities.
func (m *LensMap) Figures() []figure.Figure {
	h := figure.Heatmap{Title: strings.ToUpper(m.lens[:1]) + m.lens[1:] + ": probability of each token's successor", XLabel: "token", YLabel: "after", Rows: m.After, Columns: texts(m.Tokens), Values: m.Probability, Limits: unit()}
	return []figure.Figure{h}
}
