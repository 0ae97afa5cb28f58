package optim

import (
	"fmt"
	"math"

	"github.com/pkg/errors"
)

// Schedule gives the learning rate of a step as a factor in [0, 1] of the peak rate. Steps count
// from 0: Factor(0) belongs to the first update. A step below 0 counts as 0. A Schedule has no
// state: resuming needs only the step.
type Schedule interface {
	Factor(step int) float64
}

// ScheduleOptions holds the numbers of all schedules, as in the train section of a run's config;
// each schedule uses the fields that it knows.
type ScheduleOptions struct {
	Warmup        int     // steps of linear warmup, default 0
	Total         int     // steps of the run; Constant needs none
	Decay         int     // warmup-stable-decay only: steps of the decay at the end
	Min           float64 // factor at Total and after, default 0; Constant has none
	WarmupFromOne bool    // step s of the warmup has the factor (s+1)/Warmup, as PyTorch programs often do; without it step 0 changes only the moments
}

// check returns an error that tells what is wrong with the numbers of a schedule; ends says whether
// the schedule ends.
func (o ScheduleOptions) check(name string, ends bool) error {
	problem := ""
	switch {
	case o.Warmup < 0:
		problem = fmt.Sprintf("warmup: want >= 0 steps, got %d", o.Warmup)
	case ends && o.Total < 1:
		problem = fmt.Sprintf("total: want >= 1 step, got %d", o.Total)
	case ends && o.Warmup > o.Total:
		problem = fmt.Sprintf("warmup of %d steps is longer than the total of %d: shorten it", o.Warmup, o.Total)
	case ends && !(o.Min >= 0 && o.Min <= 1): // NaN too
		problem = fmt.Sprintf("min: want a fraction of the peak rate in [0, 1], got %v", o.Min)
	default:
		return nil
	}
	return errors.Errorf("schedule %s: %s", name, problem)
}

// WarmupCosine rises linearly from 0 to 1 and falls along half a cosine to Min (Loshchilov and
// Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts", eq. 5, with one cycle):
//
//	step < Warmup           step / Warmup, or (step+1) / Warmup with WarmupFromOne
//	Warmup <= step < Total  Min + (1-Min) (1 + cos(pi (step-Warmup)/(Total-Warmup))) / 2
//	Total <= step           Min
type WarmupCosine ScheduleOptions

// Name returns "warmup-cosine".
func (WarmupCosine) Name() string { return "warmup-cosine" }

// With checks the numbers and returns the schedule with them.
func (w WarmupCosine) With(o ScheduleOptions) (Schedule, error) {
	return WarmupCosine(o), o.check(w.Name(), true)
}

// Factor implements [Schedule].
func (w WarmupCosine) Factor(step int) float64 {
	switch {
	case step < w.Warmup:
		return warmup(step, w.Warmup, w.WarmupFromOne)
	case step >= w.Total:
		return w.Min
	}
	progress := float64(max(step, 0)-w.Warmup) / float64(w.Total-w.Warmup)
	return w.Min + (1-w.Min)*(1+math.Cos(math.Pi*progress))/2
}

// WarmupStableDecay rises linearly from 0 to 1, stays there, and falls linearly to Min over the
// last Decay steps (Hu et al. 2024, "MiniCPM", section 4.2, with a linear decay):
//
//	step < Warmup                 as in WarmupCosine
//	Warmup <= step < Total-Decay  1
//	Total-Decay <= step < Total   1 - (1-Min) (step-(Total-Decay))/Decay
//	Total <= step                 Min
type WarmupStableDecay ScheduleOptions

// Name returns "warmup-stable-decay".
func (WarmupStableDecay) Name() string { return "warmup-stable-decay" }

// With checks the numbers and returns the schedule with them.
func (w WarmupStableDecay) With(o ScheduleOptions) (Schedule, error) {
	err := o.check(w.Name(), true)
	switch {
	case err != nil:
	case o.Decay < 1:
		err = errors.Errorf("schedule %s: decay: want >= 1 step, got %d: without a decay use %s", w.Name(), o.Decay, Constant{}.Name())
	case o.Decay > o.Total-o.Warmup:
		err = errors.Errorf("schedule %s: warmup %d and decay %d take more than the total of %d steps: shorten one of them", w.Name(), o.Warmup, o.Decay, o.Total)
	}
	return WarmupStableDecay(o), err
}

// Factor implements [Schedule].
func (w WarmupStableDecay) Factor(step int) float64 {
	start := w.Total - w.Decay
	switch {
	case step < w.Warmup:
		return warmup(step, w.Warmup, w.WarmupFromOne)
	case step >= w.Total:
		return w.Min
	case step < start:
		return 1
	}
	return 1 - (1-w.Min)*float64(max(step, 0)-start)/float64(w.Decay)
}

// Constant rises linearly from 0 to 1 over Warmup steps and stays there.
type Constant ScheduleOptions

// Name returns "constant".
func (Constant) Name() string { return "constant" }

// With checks the numbers and returns the schedule with them.
func (c Constant) With(o ScheduleOptions) (Schedule, error) {
	return Constant(o), o.check(c.Name(), false)
}

// Factor implements [Schedule].
func (c Constant) Factor(step int) float64 {
	if step < c.Warmup {
		return warmup(step, c.Warmup, c.WarmupFromOne)
	}
	return 1
}

func warmup(step, steps int, fromOne bool) float64 {
	step = max(step, 0)
	if fromOne {
		step++
	}
	return float64(step) / float64(steps)
}
