package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// Lens is the logit lens (nostalgebraist 2020, "interpreting GPT: the logit lens"): what
// the model would say if nothing more were written. The stream after each writer is read
// out as the model reads its end, by the final norm at the scale that this stream gives it
// and the unembedding. In streams that mix or gate what they carry, "the stream so far" is
// the sum of all terms written so far, carried to the end at the coefficients of the run;
// for vector and matrix streams that is the stream as it stands. Hierarchical aggregation has
// no norm after its end: those on the way keep the run's scale.
type Lens struct {
	Token  int         `json:"token"`  // position
	Target int         `json:"target"` // token id
	Points []LensPoint `json:"points"` // in the order of the run

	// The names of the lens and of the target in tables and figures, and how to write a token. A
	// caller who knows the texts of tokens may set them.
	Name  string              `json:"-"` // "logit lens of id 290, token 7"
	Of    string              `json:"-"` // "id 290"
	Spell func(id int) string `json:"-"`
}

// LensPoint is the lens after one writer.
type LensPoint struct {
	After       string       `json:"after"` // the writer
	Logit       float64      `json:"logit"` // of the target
	Probability float64      `json:"probability"`
	Rank        int          `json:"rank"` // of the target, 0: the likeliest
	Top         []Prediction `json:"top"`  // the likeliest ids
	// Keys are the logit's parts by key direction of the readout, [R], in a matrix stream only.
	// They add up to the logit before a soft cap.
	Keys []float64 `json:"keys,omitempty"`
}

// Prediction is a token id with its probability.
type Prediction struct {
	ID          int     `json:"id"`
	Probability float64 `json:"probability"`
}

// lensTop is the number of likeliest ids that a lens lists.
const lensTop = 5

// Lens looks at one token through the logit lens and follows the logit of the given token id. It
// returns an error if there is no such token or id.
func (d *Decomposition) Lens(token, target int) (*Lens, error) {
	if err := d.checkToken(token); err != nil {
		return nil, err
	}
	if err := check.Index("target id", target, d.run.Vocab); err != nil {
		return nil, err
	}
	model := d.run.Model()
	direction, _ := model.LogitDirection(target)
	keys := d.readingKeys()
	var after []string
	var features []float64 // [points, F]
	d.eachPoint(token, 1, func(writer string, of []float64) {
		after, features = append(after, writer), append(features, of...)
	})
	logits, _ := model.LogitsOf(features) // of all points at once: the table of words is large
	l := &Lens{Token: token, Target: target, Name: fmt.Sprintf("%s of id %d, token %d", d.lensName(), target, token), Of: fmt.Sprintf("id %d", target),
		Spell: strconv.Itoa}
	for i, writer := range after {
		p := lensPoint(writer, share(logits, len(after), i), target)
		if keys > 0 {
			p.Keys = keyParts(share(features, len(after), i), direction, keys)
		}
		l.Points = append(l.Points, p)
	}
	return l, nil
}

// lensName returns the name of the decomposition's lens.
func (d *Decomposition) lensName() string {
	if d.lens != nil {
		return "tuned lens"
	}
	return "logit lens"
}

// readingKeys returns the number of key vectors by which the end is read; 0 without keys.
func (d *Decomposition) readingKeys() int {
	chain, _ := d.frozen.After(stream.Unembedding) // which every stream has
	if len(chain) == 0 {
		return 0
	}
	keys, _ := linear.KeysOf(chain[len(chain)-1])
	return keys.In
}

// eachPoint calls f after each writer, in order, with the features [n, F] that the stream so
// far gives for n tokens from the first on.
func (d *Decomposition) eachPoint(first, n int, f func(after string, features []float64)) {
	d.eachEnd(first, n, func(after string, ends []float64) { f(after, d.translated(after, ends, first, n)) })
}

// eachEnd calls f after each writer, in order. ends [T, Size] is what the last norm would read if
// nothing more were written, for the n tokens from first on; other tokens have zeros.
func (d *Decomposition) eachEnd(first, n int, f func(after string, ends []float64)) {
	soFar := make([]float64, len(d.end)) // other tokens 0
	end := func(token int) []float64 { return share(soFar, d.frozen.Tokens(), token) }
	for t := first; t < first+n; t++ {
		constant, _ := d.frozen.Constant(t)
		copy(end(t), constant)
	}
	for i, w := range d.writers {
		written := d.wholly(w, first, n)
		for t := range n {
			floats.Add(end(first+t), d.carry(w, first+t, share(written, n, t)))
		}
		if i+1 < len(d.writers) && d.writers[i+1].Name == positionsSite {
			continue // the embedding alone, without positions, is no stream
		}
		f(w.Name, soFar)
	}
}

// featuresOf returns the features [n, F] of n tokens for ends [T, Size] that replace the run's own.
func (d *Decomposition) featuresOf(ends []float64, first, n int) []float64 {
	readout, _ := d.frozen.Readout(ends) // as many as Decompose has read out
	var features []float64
	constant := readout.Constant()
	for t := first; t < first+n; t++ {
		x, _ := readout.Features(t, share(ends, d.frozen.Tokens(), t))
		if constant != nil {
			floats.Add(x, constant)
		}
		features = append(features, x...)
	}
	return features
}

// lensPoint summarises logits [Vocab]: the likeliest ids, and the logit, probability and rank
// of the target.
func lensPoint(after string, logits []float64, target int) LensPoint {
	logZ := floats.LogSumExp(logits)
	return LensPoint{After: after, Logit: logits[target], Probability: math.Exp(logits[target] - logZ), Rank: rankOf(logits, target),
		Top: Predictions(logits, lensTop)}
}

// Predictions returns the n likeliest ids of a token's logits, likeliest first, and then the ids in
// others.
func Predictions(logits []float64, n int, others ...int) []Prediction {
	logZ := floats.LogSumExp(logits)
	var all []Prediction
	top := likeliest(logits, n)
	for _, id := range others {
		if !slices.Contains(top, id) {
			top = append(top, id)
		}
	}
	for _, id := range top {
		all = append(all, Prediction{id, math.Exp(logits[id] - logZ)})
	}
	return all
}

// rankOf returns the number of ids with a larger logit.
func rankOf(logits []float64, target int) int {
	return floats.Count(func(v float64) bool { return v > logits[target] }, logits)
}

// likeliest returns the n ids of the largest logits, largest first; of equals the lower id comes
// first.
func likeliest(logits []float64, n int) []int {
	var top []int
	for id, v := range logits {
		at := len(top)
		for at > 0 && v > logits[top[at-1]] {
			at--
		}
		if at < n {
			top = slices.Insert(top, at, id)
			top = top[:min(n, len(top))]
		}
	}
	return top
}

// keyParts splits a logit into parts by the readout's key directions, where features and the
// logit's direction are R rows of Dv entries.
func keyParts(features, direction []float64, rank int) []float64 {
	parts := make([]float64, rank)
	for h := range parts {
		parts[h] = floats.Dot(share(features, rank, h), share(direction, rank, h))
	}
	return parts
}

// Table lists the points.
func (l *Lens) Table() figure.Table {
	t := figure.NewTable(l.Name, "lrrrl", "after", "logit", "probability", "rank", "likeliest")
	t.Note = "rank: how many tokens are likelier than the one that is looked at."
	for _, p := range l.Points {
		var top []string
		for _, id := range p.Top {
			top = append(top, fmt.Sprintf("%s %.2f", l.Spell(id.ID), id.Probability))
		}
		t.Row(p.After, p.Logit, p.Probability, p.Rank, strings.Join(top, " · "))
	}
	return t
}

// Figures are the target's probability after each writer and, for the matrix stream, its
// logit by key direction.
func (l *Lens) Figures() []figure.Figure {
	probability := figure.NewBars("Probability by the "+l.Name+", after each writer", "probability")
	keys := figure.Heatmap{Title: "Logit of " + l.Of + " by key direction of the readout", XLabel: "key direction", YLabel: "after", Diverging: true}
	for _, p := range l.Points {
		probability.Add(p.After, p.Probability)
		if p.Keys != nil {
			keys.Add(p.After, p.Keys)
		}
	}
	figures := []figure.Figure{probability}
	if len(keys.Values) > 0 {
		figures = append(figures, keys)
	}
	return figures
}
