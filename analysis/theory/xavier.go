package theory

import (
	"cmp"
	"math"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
)

// Gain is a row of the paper's Table 2: the factor by which an operation multiplies the variance of
// its input, at Xavier initialisation.
type Gain struct {
	Layer     string    `json:"layer"` // attention or feed-forward
	Purpose   string    `json:"purpose"`
	Model     string    `json:"model"`
	Pass      string    `json:"pass"`
	Operation Operation `json:"operation"`
	Paper     float64   `json:"paper"`   // as printed in Table 2
	Digits    int       `json:"digits"`  // decimals it is printed with
	Reading   string    `json:"reading"` // the sizes that give the printed number
	Read      float64   `json:"read"`    // the closed form at those sizes
	Exact     float64   `json:"exact"`   // the closed form at the model's sizes
	Simulated Estimate  `json:"simulated"`
}

// XavierGains is the paper's Table 2: var(out)/var(in) forward and var(g_in)/var(g_out) backward
// of every read and write of a block of GPT-2 medium's sizes, weights of variance
// 2/(fan_in + fan_out), inputs and gradients of mean 0: 2 fan_in/(fan_in + fan_out) forward,
// 2 fan_out/(fan_in + fan_out) backward.
type XavierGains struct {
	Gains []Gain `json:"gains"`
}

// printedGain is an operation with the numbers that Table 2 prints for it.
type printedGain struct {
	layer, purpose, model string
	operation             Operation // at the model's sizes
	reading               string
	forward, backward     float64
	digits                int
	read                  Operation // at the sizes that give the printed numbers, if these are other ones
}

// printedGains returns the rows of Table 2.
func printedGains(size sizes) []printedGain {
	const attention, feedForward = "attention", "feed-forward"
	dk, dv, rank, width, ff := size.dk, size.dv, size.rank, size.width, size.ff
	var same Operation
	return []printedGain{
		{attention, purposeRetrieval, modelRMT, Retrieve(dk, 3*rank, dv), "fan-in Dk, fan-out 3R", 1.14, 0.86, 2, same},
		{attention, purposeRetrieval, modelTransformer, Linear(width, 3*width), "fan-in D, fan-out 3D", 0.5, 1.5, 1, same},
		{attention, purposeStorage, modelRMT, Store(dk, rank, dv), "fan-in R, fan-out Dk", 0.4, 1.6, 1, same},
		{attention, purposeStorage, modelTransformer, Linear(width, width), "fan-in D, fan-out D", 1, 1, 1, same},
		{feedForward, purposeRetrieval, modelRMT, Retrieve(dk, rank, dv), "R = Dk keys instead of the model's R", 1, 1, 1, Retrieve(dk, dk, dv)},
		{feedForward, purposeRetrieval, modelTransformer, Linear(width, ff), "W1: fan-in D, fan-out FF", 0.4, 1.6, 1, same},
		{feedForward, purposeStorage, modelRMT, Store(dk, rank, dv), "R = Dk keys instead of the model's R", 1, 1, 1, Store(dk, dk, dv)},
		{feedForward, purposeStorage, modelTransformer, Linear(ff, width), "W2: fan-in FF, fan-out D", 1.6, 0.4, 1, same},
	}
}

// NewXavierGains computes the paper's Table 2 and checks each closed form by a Monte-Carlo run of
// the given number of trials.
func NewXavierGains(trials int, seed uint64) (XavierGains, error) {
	if err := check.AtLeast("trials", 2, trials); err != nil {
		return XavierGains{}, err
	}
	var table XavierGains
	for _, row := range printedGains(mediumSizes()) {
		for _, pass := range []string{passForward, passBackward} {
			table.Gains = append(table.Gains, row.gain(pass, trials, seed))
		}
	}
	return table, nil
}

func (p printedGain) gain(pass string, trials int, seed uint64) Gain {
	setting, asRead := xavierSetting(p.operation), cmp.Or(p.read, p.operation)
	exact, read := p.operation.closedForm(pass, setting), asRead.closedForm(pass, xavierSetting(asRead))
	found := p.operation.simulate(pass, setting, trials, seed+label(p.layer+p.purpose+p.model), normal)
	paper := p.forward
	if pass == passBackward {
		paper = p.backward
	}
	return Gain{p.layer, p.purpose, p.model, pass, p.operation, paper, p.digits, p.reading, read.Variance, exact.Variance, found}
}

// xavierSetting has weights of variance 2/(fan_in + fan_out) (Glorot & Bengio 2010), which Table 2
// assumes, and inputs and gradients of variance 1, so that a variance is a gain.
func xavierSetting(o Operation) Setting {
	return Setting{Input: Moments{Variance: 1}, Gradient: Moments{Variance: 1}, WeightVariance: 2 / float64(o.FanIn()+o.FanOut())}
}

// Table has a row for each operation and pass.
func (x XavierGains) Table() figure.Table {
	t := figure.NewTable("Table 2: gains of variance at Xavier initialisation, GPT-2 medium's sizes", "llllrrrrl",
		"layer", "operation", "model", "pass", "paper", "exact", "Monte-Carlo", "as read", "reading")
	for _, g := range x.Gains {
		t.Row(
			g.Layer, g.Purpose, g.Model, g.Pass, g.Paper, g.Exact,
			plusMinus(g.Simulated.Variance, g.Simulated.VarianceError), g.Read, g.Reading,
		)
	}
	return t
}

// xavierGainsNotes says what the columns are.
const xavierGainsNotes = "paper: as printed. exact: the closed form at the sizes of rmt-305m and transformer-405m. as read: the closed form at the " +
	"sizes that give the printed number.\n\n" +
	"The printed gains of 1 of the RMT's feed-forward need as many keys as Dk; with the model's R the retrieval amplifies and the storage attenuates."

// Figures shows the exact gains as logarithms, so that 0 means that the variance is kept.
func (x XavierGains) Figures() []figure.Figure {
	bars := figure.Bars{Title: "Gains of variance at Xavier initialisation (exact)", YLabel: "log2 (variance out / variance in)"}
	for _, g := range x.Gains {
		bars.Add(g.Layer+" "+g.Purpose+", "+g.Pass+", "+g.Model, math.Log2(g.Exact))
	}
	return []figure.Figure{bars}
}
