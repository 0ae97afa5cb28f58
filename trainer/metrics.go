package trainer

import (
	"encoding/json"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/models/mixing"
)

// metricsFile holds one line of JSON for each step.
const metricsFile = "metrics.jsonl"

// Metrics are one step's line in metrics.jsonl. A number that is not finite is null.
type Metrics struct {
	Step     int            `json:"step"`   // steps done, this one and skipped ones included
	Tokens   int64          `json:"tokens"` // seen so far
	Loss     eval.Number    `json:"loss"`   // cross-entropy in nats a token, without z-loss
	LR       float64        `json:"lr"`     // peak rate times the schedule
	GradNorm eval.Number    `json:"grad_norm"`
	TokensPS float64        `json:"tokens_per_s"`
	FLOPsPS  float64        `json:"flops_per_s"`       // achieved, of the model's own matrix products
	Seconds  float64        `json:"seconds"`           // since the run's start, resumed parts included
	Skipped  bool           `json:"skipped,omitempty"` // not finite: no update was made
	Spike    bool           `json:"spike,omitempty"`   // the training or the validation loss is far above the ones before it
	Experts  [][]int        `json:"experts,omitempty"` // tokens that each block's experts got
	Mixing   []mixing.Brief `json:"mixing,omitempty"`  // how far the stream's coefficients have moved, at the steps that log it
	Norms    *Norms         `json:"norms,omitempty"`   // sizes inside the model, at the steps that log them
	ValLoss  *eval.Number   `json:"val_loss,omitempty"`
	ValBits  *eval.Number   `json:"val_bits_per_byte,omitempty"`

	ValAccuracy *eval.Number `json:"val_accuracy,omitempty"` // of a task
}

// metricsLog appends to metrics.jsonl and keeps the curve of the loss.
type metricsLog struct {
	file  *checkpoint.Appender
	loss  lossHistory
	lines int     // number of lines in the file
	last  Metrics // the last line

	training, validation spikes
	stuck                stuck
	spikes               int  // that the run has warned of
	lastSpike            int  // the step at which the last one began
	high                 int  // the step at which losses last rose far above those before
	counted              bool // whether that rise is one of the spikes
}

// newMetricsLog returns a log without lines, for a run with a vocabulary and a number of steps.
func newMetricsLog(vocab, steps int) *metricsLog {
	l := &metricsLog{stuck: newStuck(vocab, steps)}
	l.training, l.validation = newSpikes()
	return l
}

// count takes a line that is in the file, or will be, and marks it if its loss is part of a spike.
// news reports a spike or a collapse that begins with this line.
func (l *metricsLog) count(m *Metrics) (news []string) {
	var text string
	if m.Spike, text = l.training.add(m.Step, float64(m.Loss)); text != "" {
		news = append(news, text)
	}
	if m.ValLoss != nil {
		far, text := l.validation.add(m.Step, float64(*m.ValLoss))
		if m.Spike = m.Spike || far; text != "" {
			news = append(news, text)
		}
	}
	if m.Spike && !l.last.Spike {
		l.high, l.counted = m.Step, false
	}
	if len(news) > 0 && !l.counted {
		l.spikes++
		l.lastSpike, l.counted = l.high, true
	}
	if text := l.stuck.add(*m); text != "" {
		news = append(news, text)
	}
	l.lines++
	l.last = *m
	l.last.Experts, l.last.Mixing, l.last.Norms = nil, nil, nil
	l.loss.add(*m)
	return news
}

// add appends a step.
func (l *metricsLog) add(m *Metrics) (news []string, err error) {
	news = l.count(m)
	return news, errors.Wrap(json.NewEncoder(l.file).Encode(*m), metricsFile)
}
