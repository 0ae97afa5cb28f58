package analysis

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis/figure"
	"github.com/residua-go/residua/models"
)

// Lens is the logit lens (nostalgebraist 2020, "interpreting GPT: the logit lens"): what
// the model would say if nothing more were written. The stream behind each writer is read
// out as the model reads its end, by the final norm at the scale that this stream gives it
// and the unembedding. In streams that mix or gate what they carry, "the stream so far" is
// the sum of all terms written so far, carried to the end at the coefficients of the run;
// for vector and matrix streams that is the stream as it stands.
type Lens struct {
	Token  int         `json:"token"`  // position
	Target int         `json:"target"` // token id
	Points []LensPoint `json:"points"` // in the order of the run
}

// LensPoint is the lens behind one writer.
type LensPoint struct {
	After       string       `json:"after"` // the writer
	Logit       float64      `json:"logit"` // of the target
	Probability float64      `json:"probability"`
	Rank        int          `json:"rank"` // of the target, 0: the likeliest
	Top         []Prediction `json:"top"`  // the likeliest ids
	// Keys are the logit's parts by key direction of the readout, [R]: for the matrix stream
	// alone.
	Keys []float64 `json:"keys,omitempty"`
}

// Prediction is a token id with its probability.
type Prediction struct {
	ID          int     `json:"id"`
	Probability float64 `json:"probability"`
}

// lensTop is how many of the likeliest ids a lens lists.
const lensTop = 5

// Lens looks at one token through the logit lens, with an eye on one token id.
func (d *Decomposition) Lens(token, target int) (*Lens, error) {
	if err := d.checkToken(token); err != nil {
		return nil, err
	}
	if err := inRange("target id", target, d.run.Vocab); err != nil {
		return nil, err
	}
	l := &Lens{Token: token, Target: target}
	err := d.eachPoint(func(after string, features func(token int) []float64) {
		l.Points = append(l.Points, d.lensPoint(after, features(token), target))
	})
	return l, err
}

// eachPoint calls f behind each writer, in order, with the features [F] that the stream so
// far gives.
func (d *Decomposition) eachPoint(f func(after string, features func(token int) []float64)) error {
	so := make([]float64, len(d.end)) // [T, Size], far
	for t := range d.held.Tokens() {
		copy(share(so, d.held.Tokens(), t), d.held.Constant(t))
	}
	for i, w := range d.writers {
		for t := range d.held.Tokens() {
			term, err := d.WriterTerm(w.Name, t)
			if err != nil {
				return err
			}
			floats.Add(share(so, d.held.Tokens(), t), term)
		}
		if i+1 < len(d.writers) && inTables(d.writers[i+1].Name) {
			continue // the embedding alone, without positions, is no stream
		}
		readout, err := d.held.Readout(so)
		if err != nil {
			return err
		}
		f(w.Name, func(token int) []float64 {
			x := slices.Clone(readout.Features(token, share(so, d.held.Tokens(), token)))
			if c := readout.Constant(); c != nil {
				floats.Add(x, c)
			}
			return x
		})
	}
	return nil
}

// inTables tells whether a writer is the position table, which stands behind the embedding.
func inTables(writer string) bool { return writer == "positions" }

// lensPoint reads features out.
func (d *Decomposition) lensPoint(after string, features []float64, target int) LensPoint {
	logits := d.logits(features)
	p := LensPoint{After: after, Logit: logits[target]}
	for _, v := range logits {
		if v > logits[target] {
			p.Rank++
		}
	}
	probabilities := softmax(logits)
	p.Probability = probabilities[target]
	order := make([]int, len(logits))
	floats.Argsort(floats.ScaleTo(make([]float64, len(logits)), -1, logits), order)
	for _, id := range order[:min(lensTop, len(order))] {
		p.Top = append(p.Top, Prediction{id, probabilities[id]})
	}
	if c := d.run.Model().Config(); c.Stream == models.StreamMatrix {
		p.Keys = keyParts(features, column(d.unembedding(), d.run.Vocab, target), c.Rank)
	}
	return p
}

// keyParts are a logit's parts by the readout's key directions: features and the logit's
// direction are R rows of Dv entries.
func keyParts(features, direction []float64, rank int) []float64 {
	parts := make([]float64, rank)
	for h := range parts {
		parts[h] = floats.Dot(share(features, rank, h), share(direction, rank, h))
	}
	return parts
}

// logits are those of features [F].
func (d *Decomposition) logits(features []float64) []float64 {
	vocab, logits := d.run.Vocab, make([]float64, d.run.Vocab)
	w := blas64.General{Rows: len(features), Cols: vocab, Stride: vocab, Data: d.unembedding()}
	blas64.Gemv(blas.Trans, 1, w, blas64.Vector{N: len(features), Data: features, Inc: 1}, 0, blas64.Vector{N: vocab, Data: logits, Inc: 1})
	return logits
}

// softmax returns probabilities.
func softmax(logits []float64) []float64 {
	p := make([]float64, len(logits))
	sum := floats.LogSumExp(logits)
	for i, v := range logits {
		p[i] = math.Exp(v - sum)
	}
	return p
}

// Table lists the points.
func (l *Lens) Table() figure.Table {
	t := figure.Table{Title: l.title(), Header: []string{"behind", "logit", "probability", "rank", "likeliest ids"}, Align: "lrrrl"}
	for _, p := range l.Points {
		likeliest := ""
		for _, top := range p.Top {
			likeliest += fmt.Sprintf("%d (%.2f) ", top.ID, top.Probability)
		}
		t.Rows = append(t.Rows, []string{p.After, number(p.Logit), number(p.Probability), fmt.Sprint(p.Rank), likeliest})
	}
	return t
}

func (l *Lens) title() string {
	return fmt.Sprintf("logit lens of id %d, token %d", l.Target, l.Token)
}

// Figures are the target's probability behind each writer and, for the matrix stream, its
// logit by key direction.
func (l *Lens) Figures() []figure.Figure {
	probability := figure.Series{Name: "probability"}
	keys := figure.Heatmap{Title: "Logit of id " + fmt.Sprint(l.Target) + " by key direction of the readout", XLabel: "key direction", YLabel: "behind", Diverging: true}
	for i, p := range l.Points {
		probability.X, probability.Y = append(probability.X, float64(i)), append(probability.Y, p.Probability)
		if p.Keys != nil {
			keys.Rows, keys.Values = append(keys.Rows, p.After), append(keys.Values, p.Keys)
		}
	}
	figures := []figure.Figure{figure.Lines{Title: "Probability by the " + l.title(), XLabel: "writer", YLabel: "probability", Series: []figure.Series{probability}}}
	if len(keys.Values) > 0 {
		figures = append(figures, keys)
	}
	return figures
}
