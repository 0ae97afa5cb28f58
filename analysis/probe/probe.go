// Package probe measures how well a linear probe reads a token's class from an activation.
package probe

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/internal/stats"
	"github.com/residua-go/residua/models/check"
)

// Options say how a probe is fitted.
type Options struct {
	Method Method `yaml:"method" default:"ridge" choices:"ridge, logistic" help:"fit the probe by <M>: ridge (least squares to each class's 0 and 1) or logistic"`
	Folds  int    `yaml:"folds" default:"5" min:"2" max:"1000" help:"measure on <N> parts of the documents, each read by a probe that was fitted on the others"`
	Seed   uint64 `yaml:"seed" default:"1" help:"seed the parts and the shuffled labels with <N>"`
}

// Method is how a probe is fitted.
type Method string

// The values of Method.
const (
	Ridge    Method = "ridge" // the default, also meant by ""
	Logistic Method = "logistic"
)

// Data are tokens with their classes.
type Data struct {
	X         *mat.Dense // [tokens, entries]
	Labels    []int      // classes
	Classes   int
	Documents []int32
}

// Interval is the share of a document's tokens whose class is found, as a mean over documents, with
// the low and the high end of an interval.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Score says how well a probe reads the class of tokens of documents that it was not fitted on.
// Entries are standardised, and the penalty is chosen, by the documents that it is fitted on alone.
type Score struct {
	Accuracy Interval `json:"accuracy"` // a 95% bootstrap interval over documents
	// Chance is what the same probe reaches for labels that are shuffled within each document: the
	// mean, the lowest and the highest of 20 shuffles.
	Chance    Interval  `json:"chance"`
	Penalties []float64 `json:"penalties"` // of each part; times the number of tokens
}

const (
	shuffles   = 20
	innerFolds = 3 // by which a penalty is chosen
)

// LeastDocuments is the smallest number of documents for Measure.
const LeastDocuments = 4

// Documents counts the documents of data.
func Documents(d Data) int { return len(d.byDocument(make([]float64, len(d.Documents)))) }

// penalties lists the penalties that are tried.
var penalties = [...]float64{1e-4, 1e-2, 1, 100}

// Measure fits probes and measures them. It returns an error for fewer than 4 documents.
func Measure(ctx context.Context, d Data, o Options) (*Score, error) {
	s, right := &Score{}, make([]float64, len(d.Labels))
	if documents := Documents(d); documents < LeastDocuments {
		return nil, check.Valuef("documents", documents, "at least %d, because a probe is measured on other documents than it is fitted on", LeastDocuments)
	}
	all := make([]int, len(right))
	for i := range all {
		all[i] = i
	}
	draw := rand.New(rand.NewPCG(o.Seed, 0))
	folds := d.parts(draw, all, o.Folds)
	fits := make([]*fit, len(folds))
	judge := func(labels []int) (means []float64, err error) {
		for i, test := range folds {
			if err := cmp.Or(ctx.Err(), fits[i].judge(labels, s.Penalties[i], test, right)); err != nil {
				return nil, err
			}
		}
		return d.byDocument(right), nil
	}
	for i := range folds {
		train := without(folds, i)
		penalty, err := d.choose(ctx, d.parts(draw, train, innerFolds), o.Method)
		if err != nil {
			return nil, err
		}
		s.Penalties, fits[i] = append(s.Penalties, penalty), d.newFit(train, o.Method)
	}
	means, err := judge(d.Labels)
	if err != nil {
		return nil, err
	}
	s.Accuracy.Mean = stat.Mean(means, nil)
	if s.Accuracy.Low, s.Accuracy.High = stats.BootstrapMean(means); math.IsNaN(s.Accuracy.Low) { // all are the same
		s.Accuracy.Low, s.Accuracy.High = s.Accuracy.Mean, s.Accuracy.Mean
	}
	var chance []float64
	for range shuffles {
		means, err := judge(d.shuffled(draw))
		if err != nil {
			return nil, err
		}
		chance = append(chance, stat.Mean(means, nil))
	}
	s.Chance = Interval{stat.Mean(chance, nil), slices.Min(chance), slices.Max(chance)}
	return s, nil
}

// choose returns the penalty with which probes do best on parts that they were not fitted on.
func (d Data) choose(ctx context.Context, parts [][]int, method Method) (float64, error) {
	found, right := make([]float64, len(penalties)), make([]float64, len(d.Labels))
	for i, test := range parts {
		f := d.newFit(without(parts, i), method)
		for k, penalty := range penalties {
			clear(right)
			if err := cmp.Or(ctx.Err(), f.judge(d.Labels, penalty, test, right)); err != nil {
				return 0, err
			}
			found[k] += floats.Sum(right)
		}
	}
	return penalties[floats.MaxIdx(found)], nil
}

// parts deals the documents of tokens out to at most n parts, at random.
func (d Data) parts(draw *rand.Rand, tokens []int, n int) [][]int {
	var documents []int32
	for _, i := range tokens {
		documents = append(documents, d.Documents[i])
	}
	slices.Sort(documents)
	documents = slices.Compact(documents)
	draw.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
	of := map[int32]int{}
	for i, document := range documents {
		of[document] = i % n
	}
	parts := make([][]int, min(n, len(documents)))
	for _, i := range tokens {
		part := of[d.Documents[i]]
		parts[part] = append(parts[part], i)
	}
	return parts
}

// without returns the tokens of all parts but one.
func without(parts [][]int, i int) []int {
	return slices.Concat(slices.Concat(parts[:i]...), slices.Concat(parts[i+1:]...))
}

// shuffled returns the labels, shuffled within each document.
func (d Data) shuffled(draw *rand.Rand) []int {
	labels := slices.Clone(d.Labels)
	of := map[int32][]int{}
	for i, document := range d.Documents {
		of[document] = append(of[document], i)
		all := of[document]
		j := all[draw.IntN(len(all))] // Fisher and Yates, from the inside out
		labels[i], labels[j] = labels[j], labels[i]
	}
	return labels
}

// byDocument returns each document's mean of values, one for each token.
func (d Data) byDocument(values []float64) (means []float64) {
	sums, order := map[int32][2]float64{}, []int32(nil)
	for i, document := range d.Documents {
		sum := sums[document]
		if sum[1] == 0 {
			order = append(order, document)
		}
		sums[document] = [2]float64{sum[0] + values[i], sum[1] + 1}
	}
	for _, document := range order {
		means = append(means, sums[document][0]/sums[document][1])
	}
	return means
}
