package tasks

import (
	"encoding/json"
	"math"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/eval"
)

// Metric is a score with its standard error.
type Metric struct {
	Name   string
	Value  float64
	StdErr float64 // NaN if there is none, as for a single document
}

// MarshalJSON writes {"checkpoint", "task", "format", "shots", "documents", "truncated",
// "metrics"}, with checkpoint only if it is known, and with "difference" if there is one. metrics
// holds each metric under its name and its standard error under NAME_stderr; values that are not
// finite become null.
func (r Result) MarshalJSON() ([]byte, error) {
	byName := func(metrics []Metric) map[string]eval.Number {
		all := map[string]eval.Number{}
		for _, m := range metrics {
			all[m.Name], all[m.Name+"_stderr"] = eval.Number(m.Value), eval.Number(m.StdErr)
		}
		return all
	}
	return json.Marshal(struct {
		Checkpoint string                 `json:"checkpoint,omitempty"`
		Task       string                 `json:"task"`
		Format     string                 `json:"format"`
		Shots      int                    `json:"shots"`
		Documents  int                    `json:"documents"`
		Truncated  int                    `json:"truncated"`
		Metrics    map[string]eval.Number `json:"metrics"`
		Difference map[string]eval.Number `json:"difference,omitempty"`
	}{r.Checkpoint, r.Task, r.Format, r.Shots, r.Documents, r.Truncated, byName(r.Metrics), byName(r.Difference)})
}

// Against returns the differences between this model's metrics and another's on the same task,
// for the metrics that are means over documents. The standard errors come from the differences
// per document. For last words it also compares the log-likelihood, in nats.
func (r Result) Against(other Result) []Metric {
	of := map[string]func(s Sample) float64{"acc": func(s Sample) float64 { return hit(s.Acc) }, "acc_norm": func(s Sample) float64 { return hit(s.AccNorm) },
		"perplexity": func(s Sample) float64 { return s.LogLikelihoods[0] }}
	var all []Metric
	for _, m := range r.Metrics {
		value, mean := of[m.Name], m.Name
		if value == nil {
			continue
		}
		if mean == "perplexity" {
			mean = "log_likelihood"
		}
		var differences []float64
		for i, s := range r.Samples {
			differences = append(differences, value(s)-value(other.Samples[i]))
		}
		center, deviation := stat.MeanStdDev(differences, nil)
		all = append(all, Metric{mean, center, deviation / math.Sqrt(float64(len(differences)))})
	}
	return all
}

// hit returns 1 if right points to true, otherwise 0.
func hit(right *bool) float64 {
	if *right {
		return 1
	}
	return 0
}

// judge sets whether a document was answered correctly.
func (t *Task) judge(s *Sample, d Document) {
	switch t.format.kind {
	case multipleChoice:
		right := best(s.LogLikelihoods) == d.Gold
		s.Acc = &right
		if t.format.norm {
			byCharacter := make([]float64, len(d.Choices))
			for i, l := range s.LogLikelihoods {
				byCharacter[i] = l / float64(utf8.RuneCountInString(d.Choices[i]))
			}
			right := best(byCharacter) == d.Gold
			s.AccNorm = &right
		}
	case lastWord:
		s.Acc = &s.Greedy[0]
	}
}

// best returns the index of the largest value, the first of equals.
func best(values []float64) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}

// metrics returns the scores for the task's kind.
func (t *Task) metrics(samples []Sample) []Metric {
	switch t.format.kind {
	case rolling:
		return t.bootstrapped(samples, []string{"word_perplexity", "byte_perplexity", "bits_per_byte"}, rollingScores)
	case lastWord:
		return append(t.bootstrapped(samples, []string{"perplexity"}, lastWordPerplexity),
			accuracy("acc", samples, func(s Sample) bool { return *s.Acc }))
	}
	metrics := []Metric{accuracy("acc", samples, func(s Sample) bool { return *s.Acc })}
	if t.format.norm {
		metrics = append(metrics, accuracy("acc_norm", samples, func(s Sample) bool { return *s.AccNorm }))
	}
	return metrics
}

// accuracy returns the share of right answers. Its standard error is the sample's standard
// deviation divided by the root of the sample's size.
func accuracy(name string, samples []Sample, right func(Sample) bool) Metric {
	n, hits := float64(len(samples)), 0.0
	for _, s := range samples {
		if right(s) {
			hits++
		}
	}
	mean := hits / n
	return Metric{name, mean, math.Sqrt(mean * (1 - mean) / (n - 1))}
}

// bootstrapped returns scores over all samples, with standard errors from resampled documents.
func (t *Task) bootstrapped(samples []Sample, names []string, scores func(at func(i int) Sample, n int) []float64) []Metric {
	n := len(samples)
	values := scores(func(i int) Sample { return samples[i] }, n)
	stderrs := eval.Bootstrap(n, t.options.Resamples, t.options.Seed, func(pick []int) []float64 {
		return scores(func(i int) Sample { return samples[pick[i]] }, n)
	})
	metrics := make([]Metric, len(names))
	for i, name := range names {
		metrics[i] = Metric{name, values[i], stderrs[i]}
	}
	return metrics
}

// rollingScores returns word perplexity, byte perplexity and bits per byte of n pages together.
func rollingScores(at func(i int) Sample, n int) []float64 {
	sum, words, bytes := 0.0, 0, 0
	for i := range n {
		s := at(i)
		sum, words, bytes = sum+s.LogLikelihoods[0], words+s.words, bytes+s.bytes
	}
	return []float64{math.Exp(-sum / float64(words)), math.Exp(-sum / float64(bytes)), -sum / float64(bytes) / math.Ln2}
}

// lastWordPerplexity returns exp of the mean negative log-likelihood of the last words.
func lastWordPerplexity(at func(i int) Sample, n int) []float64 {
	sum := 0.0
	for i := range n {
		sum += at(i).LogLikelihoods[0]
	}
	return []float64{math.Exp(-sum / float64(n))}
}
