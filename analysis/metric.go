package analysis

import (
	"fmt"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis/cache"
)

// Metric is a number that says how well a run did; NextTokenLoss and LogitOf make one.
type Metric struct {
	Name string
	of   func(run *cache.Cache) (float64, error)
}

// Of measures a run.
func (m Metric) Of(run *cache.Cache) (float64, error) {
	if m.of == nil {
		return 0, errors.Errorf("analysis: metric %q: want NextTokenLoss() or LogitOf(...), got a Metric that measures nothing", m.Name)
	}
	return m.of(run)
}

// NextTokenLoss is the mean cross-entropy in nats of each token's successor in its row.
func NextTokenLoss() Metric {
	return Metric{"loss of the next token", func(run *cache.Cache) (float64, error) {
		if run.Seq < 2 {
			return 0, errors.Errorf("analysis: loss: want at least 2 tokens, so that one has a successor, got %d", run.Seq)
		}
		sum, count := 0.0, 0
		for token := range run.Tokens() {
			if (token+1)%run.Seq == 0 {
				continue
			}
			logits, err := run.TokenLogits(token)
			if err != nil {
				return 0, err
			}
			sum += floats.LogSumExp(logits) - logits[run.IDs[token+1]]
			count++
		}
		return sum / float64(count), nil
	}}
}

// LogitOf is the logit of the id target at a token, less that of the id against unless it is
// negative.
func LogitOf(token, target, against int) Metric {
	name := fmt.Sprintf("logit of %d, token %d", target, token)
	if against >= 0 {
		name = fmt.Sprintf("logit of %d less that of %d, token %d", target, against, token)
	}
	return Metric{name, func(run *cache.Cache) (float64, error) {
		logits, err := run.TokenLogits(token)
		if err != nil {
			return 0, err
		}
		if err := inRange("target id", target, len(logits)); err != nil {
			return 0, err
		}
		if against < 0 {
			return logits[target], nil
		}
		if err := inRange("id to compare with", against, len(logits)); err != nil {
			return 0, err
		}
		return logits[target] - logits[against], nil
	}}
}
