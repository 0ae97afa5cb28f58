package theory

import (
	"cmp"
	"fmt"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
)

// Comparison holds a closed form and the result of a Monte-Carlo run of the same pass.
type Comparison struct {
	Model      string    `json:"model"`   // rmt or transformer
	Purpose    string    `json:"purpose"` // retrieval or storage
	Operation  Operation `json:"operation"`
	Pass       string    `json:"pass"`
	Formula    string    `json:"formula"` // of the variance
	Closed     Moments   `json:"closed"`
	MonteCarlo Estimate  `json:"monte_carlo"`
}

// Deviations are (estimate - closed form) / standard error, of mean and variance.
func (c Comparison) Deviations() (mean, variance float64) {
	return (c.MonteCarlo.Mean - c.Closed.Mean) / c.MonteCarlo.MeanError,
		(c.MonteCarlo.Variance - c.Closed.Variance) / c.MonteCarlo.VarianceError
}

// Propagation is the paper's Table 1: the mean and variance that retrieval and
// storage pass on, of the RMT and of the transformer's linear maps, forward and backward; and of
// the weights' gradients, which the paper leaves out.
type Propagation struct {
	Setting     Setting      `json:"setting"`
	Comparisons []Comparison `json:"comparisons"`
}

// The models and the purposes of an operation.
const (
	modelRMT         = "rmt"
	modelTransformer = "transformer"
	purposeRetrieval = "retrieval"
	purposeStorage   = "storage"
)

// attentionOperation says how a model's attention reads or writes its stream, with the words of the
// closed forms.
type attentionOperation struct {
	model, purpose           string
	operation                Operation
	fanIn, fanOut, x, shared string
}

// attentionOperations returns the reads and writes of an attention with GPT-2 medium's sizes.
func attentionOperations(size sizes) []attentionOperation {
	return []attentionOperation{
		{modelRMT, purposeRetrieval, Retrieve(size.dk, 3*size.rank, size.dv), "Dk", "3R", "x", "Dv"},
		{modelTransformer, purposeRetrieval, Linear(size.width, 3*size.width), "D", "3D", "x", ""},
		{modelRMT, purposeStorage, Store(size.dk, size.rank, size.dv), "R", "Dk", "y", "Dv"},
		{modelTransformer, purposeStorage, Linear(size.width, size.width), "D", "D", "y", ""},
	}
}

// formula writes a pass's variance in the model's sizes.
func (a attentionOperation) formula(pass string) string {
	square := "(var(" + a.x + ") + mean(" + a.x + ")^2)"
	switch pass {
	case passForward:
		return a.fanIn + " var(w) " + square
	case passBackward:
		return a.fanOut + " var(w) (var(g) + mean(g)^2)"
	}
	if a.shared != "" {
		a.shared += " "
	}
	return a.shared + "((var(g) + mean(g)^2) " + square + " - (mean(g) mean(" + a.x + "))^2)"
}

// NewPropagation compares every closed form of the paper's Table 1 with a Monte-Carlo run of
// the given number of trials. [PropagationSetting] returns a setting under which every term of
// the closed forms counts.
func NewPropagation(setting Setting, trials int, seed uint64) (Propagation, error) {
	if err := cmp.Or(setting.check(), check.AtLeast("trials", 2, trials)); err != nil {
		return Propagation{}, err
	}
	table := Propagation{Setting: setting}
	for _, a := range attentionOperations(mediumSizes()) {
		for _, pass := range []string{passForward, passBackward, passWeights} {
			estimate := a.operation.simulate(pass, setting, trials, seed+label(a.model+a.purpose), normal)
			table.Comparisons = append(table.Comparisons,
				Comparison{a.model, a.purpose, a.operation, pass, a.formula(pass), a.operation.closedForm(pass, setting), estimate})
		}
	}
	return table, nil
}

// PropagationSetting has no moment that is 0 or 1 (except the weights' mean), so that a closed form
// with a missing moment gives a wrong result.
func PropagationSetting() Setting {
	return Setting{Input: Moments{Mean: 0.7, Variance: 1.3}, Gradient: Moments{Mean: -0.4, Variance: 0.6}, WeightVariance: 0.02}
}

// Table has a row for each operation and pass: closed form, estimate, deviation in standard errors.
func (p Propagation) Table() figure.Table {
	t := figure.NewTable("Table 1: moments through retrieval and storage, closed form and Monte-Carlo", "rllllrrrrrr",
		"no.", "model", "operation", "pass", "formula of the variance", "mean", "estimated mean", "deviation of the mean", "variance", "estimated variance",
		"deviation of the variance")
	for i, c := range p.Comparisons {
		mean, variance := c.Deviations()
		t.Row(
			i+1, c.Model, c.Purpose, c.Pass, c.Formula,
			c.Closed.Mean, plusMinus(c.MonteCarlo.Mean, c.MonteCarlo.MeanError), deviations(mean),
			c.Closed.Variance, plusMinus(c.MonteCarlo.Variance, c.MonteCarlo.VarianceError), deviations(variance),
		)
	}
	return t
}

// propagationNotes states the assumptions.
func propagationNotes() string {
	return "Forward and backward hold for independent weights w of mean 0 that do not depend on what they multiply, whose entries may depend on each " +
		"other in any way. The paper prints these two, the backward one with mean(g) = 0.\n\n" +
		"The gradients of the weights (not in the paper) hold for one token, with independent entries and a gradient that does not depend on the input.\n\n" +
		"deviation: (estimate - closed form) / standard error. Estimates are followed by their standard errors. Inputs: " + PropagationSetting().text() +
		". Sizes: those of rmt-305m and transformer-405m."
}

func (s Setting) text() string {
	return fmt.Sprintf("mean(x) %.4g, var(x) %.4g, mean(g) %.4g, var(g) %.4g, var(w) %.4g",
		s.Input.Mean, s.Input.Variance, s.Gradient.Mean, s.Gradient.Variance, s.WeightVariance)
}

// Figures shows each estimate of a variance divided by its closed form, with 4 standard errors.
func (p Propagation) Figures() []figure.Figure {
	one := figure.Series{Name: "closed form"}
	found := figure.Series{Name: "Monte-Carlo, 4 standard errors", Points: true}
	for i, c := range p.Comparisons {
		x := float64(i + 1)
		one.Add(x, 1)
		found.Add(x, c.MonteCarlo.Variance/c.Closed.Variance, 4*c.MonteCarlo.VarianceError/c.Closed.Variance)
	}
	return []figure.Figure{figure.Lines{
		Title: "Variance of retrieval and storage: Monte-Carlo over closed form", XLabel: "row of Table 1", YLabel: "ratio",
		Series: []figure.Series{one, found},
	}}
}
