package analysis

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/stream"
)

// Contribution is one term of a logit.
type Contribution struct {
	Writer string  `json:"writer"`         // "blocks.3.attention"
	Part   string  `json:"part,omitempty"` // "head", "neuron", "expert", "bias"; "" for a writer of one part
	Index  int     `json:"index"`          // number of the part
	Value  float64 `json:"value"`          // what it adds to the logit
}

// Name returns "blocks.3.attention.1" for a head, "blocks.3.feedforward neuron 17" for a neuron.
func (c Contribution) Name() string {
	switch c.Part {
	case "":
		return c.Writer
	case biasPart:
		return c.Writer + " " + biasPart
	}
	return stream.PartName(c.Writer, c.Part, c.Index)
}

// biasPart is the Part of a contribution that comes from a writer's bias.
const biasPart = "bias"

// Attribution is a logit, or a difference of two, as a sum over what was written to the
// stream (direct logit attribution; Elhage et al. 2021):
//
//	logit = Constant + sum of Contributions
//
// with the final norm's scale held at the run's. All values are in the unit of logits. For a model
// with logit_softcap it is the logit before the cap, which is linear in the features.
type Attribution struct {
	Name          string         `json:"name"`    // "logit of 290, token 7"; whoever knows the texts of tokens may give it another
	Token         int            `json:"token"`   // position
	Target        int            `json:"target"`  // token id
	Against       int            `json:"against"` // token id whose logit is taken off, -1: none
	Contributions []Contribution `json:"contributions"`
	Constant      float64        `json:"constant"` // the biases of norms
	Sum           float64        `json:"sum"`      // Constant and all contributions
	Logit         float64        `json:"logit"`    // as the model computed it, before a soft cap
}

// Attribute splits a token's logit of the id target into the terms of all writers. Unless against
// is negative, it splits the difference to the logit of the id against. It returns an error if
// there is no such token or id.
func (d *Decomposition) Attribute(token, target, against int) (*Attribution, error) {
	direction, err := d.logitDirection(target, against)
	if err != nil {
		return nil, err
	}
	if err := d.checkToken(token); err != nil {
		return nil, err
	}
	a := &Attribution{Name: LogitOf(token, target, against).Name, Token: token, Target: target, Against: max(-1, against)}
	d.addTerms(a, direction)
	a.Sum = a.Constant
	for _, c := range a.Contributions {
		a.Sum += c.Value
	}
	logits, _ := d.run.TokenLogits(token) // the token exists
	a.Logit = d.run.Model().UncappedLogit(logits[target])
	if against >= 0 {
		a.Logit -= d.run.Model().UncappedLogit(logits[against])
	}
	return a, nil
}

// addTerms splits the product of a token's features with a direction [F] into the constant and
// the contributions of all writers. It pulls the direction back to each writer's source, and
// multiplies it by what was written there.
func (d *Decomposition) addTerms(a *Attribution, direction []float64) {
	atEnd, _ := d.readout.PullBack(a.Token, direction) // the token exists
	pulled, _ := d.frozen.PullBack(a.Token, atEnd)
	constant, _ := d.frozen.Constant(a.Token)
	a.Constant = floats.Dot(atEnd, constant)
	if c := d.readout.Constant(); c != nil {
		a.Constant += floats.Dot(direction, c)
	}
	for _, w := range d.writers {
		a.Contributions = append(a.Contributions, d.contributions(w, a.Token, pulled[w.Source])...)
	}
}

// logitDirection returns the direction [F] whose product with the features is a logit, or a
// difference of two.
func (d *Decomposition) logitDirection(target, against int) ([]float64, error) {
	if err := checkTarget(target, against, d.run.Vocab); err != nil {
		return nil, err
	}
	direction, _ := d.run.Model().LogitDirection(target) // the id exists
	if against >= 0 {
		other, _ := d.run.Model().LogitDirection(against)
		floats.Sub(direction, other)
	}
	return direction, nil
}

// contributions returns the products of a writer's parts with a direction at its source [width].
func (d *Decomposition) contributions(w stream.Writer, token int, direction []float64) []Contribution {
	var all []Contribution
	for p := range w.Parts {
		all = append(all, Contribution{Writer: w.Name, Part: w.Part, Index: p, Value: floats.Dot(d.written(w, p, token), direction)})
	}
	if w.Bias != "" {
		all = append(all, Contribution{Writer: w.Name, Part: biasPart, Value: floats.Dot(d.bias(w, token), direction)})
	}
	return all
}

// ByWriter sums the contributions of each writer, in the order of the run.
func (a *Attribution) ByWriter() []Contribution {
	var sums []Contribution
	for _, c := range a.Contributions {
		if n := len(sums); n > 0 && sums[n-1].Writer == c.Writer {
			sums[n-1].Value += c.Value
			continue
		}
		sums = append(sums, Contribution{Writer: c.Writer, Value: c.Value})
	}
	return sums
}

// Table lists what each writer contributes, all its parts together, in the order of the run.
func (a *Attribution) Table() figure.Table {
	t := figure.NewTable(a.Name+", by site", "lr", "what wrote it", "contribution")
	t.Note = "The terms add up to the model's own logit, but for rounding. norms' biases: what the biases of norms on the\n" +
		"way to the end add."
	for _, c := range a.ByWriter() {
		t.Row(c.Name(), c.Value)
	}
	t.Row("norms' biases", a.Constant)
	t.Row("sum", a.Sum)
	t.Row("the model's own", a.Logit)
	return t
}

// Figures returns bars of the writers' contributions, and a map of the heads'.
func (a *Attribution) Figures() []figure.Figure {
	bars := figure.NewBars("Contributions to the "+a.Name, "contribution")
	for _, c := range a.ByWriter() {
		bars.Add(c.Writer, c.Value)
	}
	bars.Add("norms' biases", a.Constant)
	figures := []figure.Figure{bars}
	if heads := a.heads(); len(heads.Values) > 0 {
		figures = append(figures, heads)
	}
	return figures
}

// heads returns a map of the heads' contributions, with a row for each layer.
func (a *Attribution) heads() figure.Heatmap {
	h := figure.Heatmap{Title: "Heads' contributions to the " + a.Name, XLabel: "head", YLabel: "layer", Diverging: true}
	for _, c := range a.Contributions {
		if c.Part != stream.HeadPart {
			continue
		}
		if c.Index == 0 {
			h.Add(c.Writer, nil)
		}
		last := len(h.Values) - 1
		h.Values[last] = append(h.Values[last], c.Value)
	}
	return h
}

// Ranking holds the largest contributions of one kind to a logit.
type Ranking struct {
	Name    string         `json:"name"`    // "logit of 290, token 7, by head"
	Largest []Contribution `json:"largest"` // largest first, above or below 0
	Count   int            `json:"count"`   // of all contributions of the kind
	Sum     float64        `json:"sum"`     // of all contributions of the kind
}

// Rank ranks contributions and keeps the n largest.
func Rank(name string, of []Contribution, n int) *Ranking {
	size := func(c Contribution) float64 { return math.Abs(c.Value) }
	r := &Ranking{Name: name, Largest: figure.Largest(of, n, size), Count: len(of)}
	for _, c := range of {
		r.Sum += c.Value
	}
	return r
}

// Table lists them, and what the others contribute together.
func (r *Ranking) Table() figure.Table {
	t := figure.NewTable(r.Name, "lr", "what wrote it", "contribution")
	others := r.Sum
	for _, c := range r.Largest {
		t.Row(c.Name(), c.Value)
		others -= c.Value
	}
	if n := r.Count - len(r.Largest); n > 0 {
		t.Row(fmt.Sprintf("the other %d together", n), others)
	}
	if r.Count > 1 {
		t.Row(fmt.Sprintf("all %d", r.Count), r.Sum)
	}
	return t
}
