package bench

import (
	"context"

	"github.com/residua-go/residua/internal/stats"
)

// DesignResult is a residual design's cost at a shape, relative to the plain transformer's.
type DesignResult struct {
	Name       string  `json:"name"`
	Shape      string  `json:"shape"`
	Optim      string  `json:"optim,omitempty"` // optimizer of both; "": AdamW
	Batch      int     `json:"batch"`
	Seq        int     `json:"seq"`
	Parameters int     `json:"parameters"`
	Time       float64 `json:"relative_time"`     // of a step: ratio of the medians over the same turns
	FLOPs      float64 `json:"relative_flops"`    // matrix products for a token
	Bytes      float64 `json:"relative_bytes"`    // what the graph's ops read and write in a step
	PeakMB     float64 `json:"peak_mb"`           // of the process
	TokensPS   float64 `json:"tokens_per_second"` // median
	Steps      int     `json:"steps"`
}

// newDesignResult compares a design's worker with the plain transformer, whose plainSeconds are
// from the same turns.
func newDesignResult(shape string, w, base Workload, own *worker, plain facts, plainSeconds []float64) DesignResult {
	t, cost, plainCost := newTiming(w, own), w.Spec.Cost(), base.Spec.Cost()
	return DesignResult{
		Name: w.Name, Shape: shape, Optim: w.Optim, Batch: w.Batch, Seq: w.Spec.Seq, Parameters: own.facts.Parameters,
		Time:   t.StepSeconds / stats.Median(plainSeconds),
		FLOPs:  float64(cost.TrainFLOPs()) / float64(plainCost.TrainFLOPs()),
		Bytes:  float64(own.facts.Traffic) / float64(plain.Traffic),
		PeakMB: float64(t.PeakBytes) / 1e6, TokensPS: t.TokensPS, Steps: t.Steps,
	}
}

// Designs compares residual designs with their plain transformers, whose rows come first. It fills
// Report.Designs.
func (b *Bench) Designs(ctx context.Context, all []Comparison) error {
	var parts []float64
	for _, c := range all {
		for _, w := range c.measured() {
			work := c.Base.stepFLOPs()
			if w.Name != "" {
				work += w.stepFLOPs()
			}
			parts = append(parts, work)
		}
	}
	b.begin(parts)
	for _, c := range all {
		if b.o.Steps != 0 {
			c.Steps = b.o.Steps
		}
		if err := b.designs(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// measured returns the designs, or a workload without a name that stands for the plain transformer
// by itself.
func (c Comparison) measured() []Workload {
	if len(c.Others) == 0 {
		return []Workload{{}}
	}
	return c.Others
}

// designs lets each design take turns with the plain transformer, whose worker runs all the time.
func (b *Bench) designs(ctx context.Context, c Comparison) error {
	b.note("%s: starting and warming up", c.title())
	plain, err := b.start(ctx, b.job(residua, c.Base))
	if err == nil {
		defer func() { _ = plain.close() }()
		err = plain.open()
	}
	if err != nil {
		return b.failed(ctx, c.Base.Name, err)
	}
	before, rows := b.report.Designs, []DesignResult(nil)
	for _, w := range c.measured() {
		from, what, jobs := len(plain.seconds), c.title(), []job(nil)
		if w.Name != "" {
			what, jobs = w.Name+" compared with "+what, []job{b.job(residua, w)}
		}
		workers, err := b.compare(ctx, what, c.Steps, []*worker{plain}, jobs...)
		if err != nil || !plain.ok() {
			return err
		}
		if own := workers[len(workers)-1]; own != plain && own.ok() {
			rows = append(rows, newDesignResult(c.Shape, w, c.Base, own, plain.facts, plain.seconds[from:]))
		}
		first := newDesignResult(c.Shape, c.Base, c.Base, plain, plain.facts, plain.seconds)
		b.report.Designs = append(append(before[:len(before):len(before)], first), rows...)
		if err := b.save(); err != nil {
			return err
		}
	}
	return nil
}
