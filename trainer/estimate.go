package trainer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
)

// Estimate predicts the cost of the rest of a run.
type Estimate struct {
	Steps      int           // still to make, if train.stop.loss does not end the run before
	FLOPs      float64       // of these steps, validation excluded
	Time       time.Duration // validation included, saving excluded; at most what train.stop.time leaves
	MicroBatch time.Duration // of one micro-batch, forward and backward
	Update     time.Duration // of one update by the optimizer; 0 if it was not measured: with several ranks, on a GPU, or if memory is short
}

// Estimate times micro-batches and updates on this machine and predicts the rest of the run
// from them. It runs two of each and keeps the times of the second, because the first
// allocates buffers. The state of the run does not change.
func (t *Trainer) Estimate(ctx context.Context) (e Estimate, err error) {
	if t.ended() {
		return e, nil
	}
	if e, err = t.timed(ctx); err != nil {
		return e, err
	}
	return t.extrapolate(e), nil
}

// timed measures the times of a micro-batch and an update; the other fields of e are zero.
func (t *Trainer) timed(ctx context.Context) (e Estimate, err error) {
	position := t.batches.Position()
	defer t.batches.Seek(position)
	restore := t.snapshot()
	if restore != nil {
		defer restore()
	}
	for range 2 {
		began := time.Now()
		if err := t.learner.TryMicroBatch(ctx); err != nil {
			return e, err
		}
		e.MicroBatch = time.Since(began)
		if restore == nil {
			continue
		}
		began = time.Now()
		if _, err := t.learner.Update(); err != nil {
			return e, err
		}
		e.Update = time.Since(began)
	}
	return e, nil
}

// snapshot returns a function that restores the weights, the optimizer's state and the progress to
// what they are now. It returns nil where an update cannot be tried: see Estimate.Update.
func (t *Trainer) snapshot() (restore func()) {
	if t.group != nil || t.store.OnDevice() || 4*t.store.Bytes() > graph.AvailableMemory() {
		return nil
	}
	progress := t.learner.Progress()
	var live, kept [][]float32
	keep := func(values []float32) { live, kept = append(live, values), append(kept, slices.Clone(values)) }
	for _, p := range t.store.Trained() {
		keep(p.Value.Float32s())
	}
	for _, s := range t.learner.Optimizer().State() {
		keep(s.Value.Float32s())
	}
	return func() {
		for i, values := range kept {
			copy(live[i], values)
		}
		t.learner.Resume(progress)
	}
}

// extrapolate fills in the other fields of an estimate whose times are known.
func (t *Trainer) extrapolate(e Estimate) Estimate {
	c, stop := t.run, t.run.Train.Stop
	tokens := int64(c.TotalSteps()) * int64(c.StepTokens())
	if stop.Tokens > 0 {
		tokens = min(tokens, stop.Tokens)
	}
	if stop.FLOPs > 0 {
		tokens = int64(math.Ceil(min(float64(tokens), stop.FLOPs/t.flops))) // a limit may be beyond int64
	}
	step := int64(c.StepTokens())
	e.Steps = max(0, int((tokens+step-1)/step)-t.step())
	e.FLOPs = float64(e.Steps) * float64(step) * t.flops
	work := float64(e.Steps) * float64(c.Train.Accumulate) / float64(max(1, c.Device.Ranks)) // in micro-batches of a rank
	if t.eval != nil {
		scored := float64(t.scoredTokens(t.validationTokens(t.corpus).Len())) / float64(c.Train.Batch*c.Model.Seq)
		work += float64(c.Evaluations()) * float64(e.Steps) / float64(max(1, c.TotalSteps())) * scored / 3 // a forward pass takes a third of a training step's FLOPs
	}
	e.Time = time.Duration(work*float64(e.MicroBatch) + float64(e.Steps)*float64(e.Update))
	if limit := stop.Limit(); limit > 0 {
		e.Time = min(e.Time, max(0, limit-seconds(t.before)))
	}
	return e
}

// String returns "2000 steps, 3.2 TFLOP, about 10 h 12 min on this machine".
func (e Estimate) String() string {
	return fmt.Sprintf("%s steps, %sFLOP, about %s on this machine", figure.Thousands(int64(e.Steps)), thousands(e.FLOPs), words(e.Time))
}

// words writes a duration with two units at most: "10 h 12 min", "3 min", "40 s".
func words(d time.Duration) string {
	switch {
	case d < 99500*time.Millisecond: // what rounds to 100 s is written in minutes
		return fmt.Sprintf("%.2g s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	d = d.Round(time.Hour)
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}
