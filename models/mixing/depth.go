package mixing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/stream"
)

// Depth says who reads which layer: it lists the weights of sums over the outputs of earlier
// layers.
type Depth struct {
	Softmax bool     `json:"softmax"` // a reader's weights are above 0 and add up to 1
	Sources []string `json:"sources"` // in the order in which they are made
	Reads   []Read   `json:"reads"`   // in the order of the run
}

// Read is one sum.
type Read struct {
	Reader  string   `json:"reader"` // "blocks.3.attention.q"
	Weights []Weight `json:"weights"`
}

// Weight is the weight of one source in one sum.
type Weight struct {
	Source string  `json:"source"`
	Mean   float64 `json:"mean"`   // over tokens
	Spread float64 `json:"spread"` // root mean square distance of a token's weight from the mean
}

// Depth lists who reads which layer; nil in a stream that reads no sums over depth.
func (c *Coefficients) Depth() *Depth {
	if len(c.reads) == 0 {
		return nil
	}
	d := &Depth{Sources: c.sources, Softmax: true}
	for _, r := range c.reads {
		d.Softmax = d.Softmax && r.Softmax
		of := slices.IndexFunc(c.places, func(p place) bool { return p.Name == r.Name && p.Kind == stream.MixingDepth })
		for i, reader := range r.Readers {
			read := Read{Reader: reader}
			for j, source := range r.Of {
				ofTokens := []float64{1} // the only source
				if of >= 0 {
					ofTokens = c.places[of].entry(i, j)
				}
				read.Weights = append(read.Weights, NewWeight(c.sources[source], ofTokens))
			}
			d.Reads = append(d.Reads, read)
		}
	}
	return d
}

// entry returns entry (i, j) of each token.
func (p place) entry(i, j int) (ofTokens []float64) {
	for at := i*p.Columns + j; at < len(p.values); at += p.Rows * p.Columns {
		ofTokens = append(ofTokens, p.values[at])
	}
	return ofTokens
}

// NewWeight returns a source's weight from that of each token. Equal weights have a spread of 0.
func NewWeight(source string, ofTokens []float64) Weight {
	w := Weight{Source: source, Mean: ofTokens[0]}
	n := float64(len(ofTokens))
	for _, v := range ofTokens {
		w.Mean += (v - ofTokens[0]) / n
	}
	square := 0.0
	for _, v := range ofTokens {
		square += (v - w.Mean) * (v - w.Mean) / n
	}
	w.Spread = math.Sqrt(square)
	return w
}

// Table has a line for each weight.
func (d *Depth) Table() figure.Table {
	t := figure.NewTable("Who reads which layer", "llrr", "reader", "source", "weight", "spread")
	t.Note = "weight: how much of the source is in what is read, a mean over tokens; spread: its standard deviation over tokens."
	for _, r := range d.Reads {
		for _, w := range r.Weights {
			t.Row(r.Reader, w.Source, fmt.Sprintf("%.4f", w.Mean), small(w.Spread))
		}
	}
	return t
}

// Strongest has a line for each reader: the sources of its largest weights.
func (d *Depth) Strongest() figure.Table {
	t := figure.NewTable("Who reads which layer: the largest weights", "ll", "reader", "reads")
	t.Note = "A number is how much of a source is in what is read, a mean over tokens."
	for _, r := range d.Reads {
		var texts []string
		for _, w := range figure.Largest(r.Weights, 3, func(w Weight) float64 { return math.Abs(w.Mean) }) {
			texts = append(texts, fmt.Sprintf("%s %.3f", w.Source, w.Mean))
		}
		t.Row(r.Reader, strings.Join(texts, ", "))
	}
	return t
}

// Figures are the weights' means over tokens, readers down and sources across, and their spread
// where tokens differ. Weights of a softmax have a scale from 0 to 1, others one around 0.
func (d *Depth) Figures() []figure.Figure {
	mean := d.heatmap("Who reads which layer: weights, mean over tokens", func(w Weight) float64 { return w.Mean })
	if mean.Diverging = !d.Softmax; d.Softmax {
		mean.Limits = []float64{0, 1}
	}
	spread := d.heatmap("How much tokens differ in them: standard deviation", func(w Weight) float64 { return w.Spread })
	most := floats.Max(slices.Concat(spread.Values...)) // not NaN, which is left out
	if most == 0 {
		return []figure.Figure{mean}
	}
	spread.Limits = []float64{0, most}
	return []figure.Figure{mean, spread}
}

// heatmap shows one number of each weight; cells are blank where a reader lacks the source.
func (d *Depth) heatmap(title string, of func(Weight) float64) figure.Heatmap {
	h := figure.Heatmap{Title: title, XLabel: "source", YLabel: "reader", Columns: d.Sources}
	for _, r := range d.Reads {
		for _, w := range r.Weights {
			h.Set(r.Reader, w.Source, of(w))
		}
	}
	return h
}
