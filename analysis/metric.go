package analysis

import (
	"cmp"
	"fmt"

	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// Metric is a number that says how well a run did; NextTokenLoss and LogitOf make one.
type Metric struct {
	Name string
	of   func(run *cache.Cache) (float64, error)

	logits *cache.LogitSum // what it is, where it is linear in the logits
}

// Of returns the metric of a run.
func (m Metric) Of(run *cache.Cache) (float64, error) {
	if m.of == nil {
		return 0, check.Value(fmt.Sprintf("metric %q", m.Name), "what NextTokenLoss or LogitOf returns", "a Metric that measures nothing")
	}
	return m.of(run)
}

// NextTokenLoss is the mean cross-entropy in nats of each token's successor in its row.
func NextTokenLoss() Metric {
	return Metric{Name: "loss of the next token", of: func(run *cache.Cache) (float64, error) {
		if run.Seq < 2 {
			return 0, check.Value("loss", "at least 2 tokens, so that one has a successor", run.Seq)
		}
		return run.NextTokenLoss(), nil
	}}
}

// LogitOf returns the logit of the id target at a token, minus the logit of the id against unless
// against is negative.
func LogitOf(token, target, against int) Metric {
	name, weights := fmt.Sprintf("logit of %d, token %d", target, token), map[int]float64{target: 1}
	if against >= 0 {
		weights[against]--
		name = fmt.Sprintf("logit of %d minus that of %d, token %d", target, against, token)
	}
	return Metric{Name: name, logits: &cache.LogitSum{Token: token, Weights: weights}, of: func(run *cache.Cache) (float64, error) {
		logits, err := run.TokenLogits(token)
		if err != nil {
			return 0, err
		}
		if err := checkTarget(target, against, len(logits)); err != nil {
			return 0, err
		}
		if against < 0 {
			return logits[target], nil
		}
		return logits[target] - logits[against], nil
	}}
}

// checkTarget returns an error for ids outside the vocabulary.
func checkTarget(target, against, vocab int) error {
	return cmp.Or(check.Index("target id", target, vocab), check.Index("id to compare with", max(0, against), vocab))
}
