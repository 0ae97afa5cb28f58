package optim

import (
	"math"
	"strings"

	"github.com/pkg/errors"
)

// Schedule gives the learning rate of a step as a factor in [0, 1] of the peak rate. Steps count from 0: Factor(0)
// belongs to the first update. A step below 0 counts as 0. A Schedule has no state: resuming needs only the step.
type Schedule interface {
	Factor(step int) float64
}

// Names of the schedules, for [NewSchedule].
const (
	ScheduleWarmupCosine      = "warmup-cosine"
	ScheduleWarmupStableDecay = "warmup-stable-decay"
	ScheduleConstant          = "constant"
)

// ScheduleOptions are the numbers of all schedules; each takes what it knows.
type ScheduleOptions struct {
	Warmup        int     // steps of linear warmup, default 0
	Total         int     // steps of the run; Constant needs none
	Decay         int     // warmup-stable-decay only: steps of the decay at the end
	Min           float64 // factor at Total and after, default 0; Constant has none
	WarmupFromOne bool    // the first step has factor 1/Warmup in place of 0
}

// NewSchedule returns the schedule of that name, or an error that names the value that is wrong.
func NewSchedule(name string, o ScheduleOptions) (Schedule, error) {
	if o.Decay != 0 && (name == ScheduleWarmupCosine || name == ScheduleConstant) {
		return nil, errors.Errorf("schedule %s: decay is %d, but only %s has one: remove it", name, o.Decay, ScheduleWarmupStableDecay)
	}
	var s interface {
		Schedule
		Validate() error
	}
	switch name {
	case ScheduleWarmupCosine:
		s = WarmupCosine{Warmup: o.Warmup, Total: o.Total, Min: o.Min, WarmupFromOne: o.WarmupFromOne}
	case ScheduleWarmupStableDecay:
		s = WarmupStableDecay(o)
	case ScheduleConstant:
		s = Constant{Warmup: o.Warmup, WarmupFromOne: o.WarmupFromOne}
	default:
		known := []string{ScheduleWarmupCosine, ScheduleWarmupStableDecay, ScheduleConstant}
		return nil, errors.Errorf("schedule %q is unknown: want one of %s", name, strings.Join(known, ", "))
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// WarmupCosine rises linearly from 0 to 1 and falls along half a cosine to Min (Loshchilov and Hutter 2017,
// "SGDR: Stochastic Gradient Descent with Warm Restarts", eq. 5, with one cycle):
//
//	step < Warmup           step / Warmup, or (step+1) / Warmup with WarmupFromOne
//	Warmup <= step < Total  Min + (1-Min) (1 + cos(pi (step-Warmup)/(Total-Warmup))) / 2
//	Total <= step           Min
type WarmupCosine struct {
	Warmup, Total int
	Min           float64

	// WarmupFromOne gives step s of the warmup the factor (s+1)/Warmup, as PyTorch programs often do. Without it
	// step 0 has rate 0: the optimizer's moments move at that step, the weights do not.
	WarmupFromOne bool
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

// Validate wants 0 <= Warmup <= Total, Total >= 1 and Min in [0, 1].
func (w WarmupCosine) Validate() error {
	return checkSchedule(ScheduleWarmupCosine, w.Warmup, w.Total, w.Min)
}

// WarmupStableDecay rises linearly from 0 to 1, stays there, and falls linearly to Min over the last Decay steps
// (Hu et al. 2024, "MiniCPM", section 4.2, with a linear decay):
//
//	step < Warmup                 as in WarmupCosine
//	Warmup <= step < Total-Decay  1
//	Total-Decay <= step < Total   1 - (1-Min) (step-(Total-Decay))/Decay
//	Total <= step                 Min
type WarmupStableDecay struct {
	Warmup, Total, Decay int
	Min                  float64
	WarmupFromOne        bool // see [WarmupCosine]
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

// Validate wants 0 <= Warmup, 1 <= Decay, Warmup+Decay <= Total and Min in [0, 1].
func (w WarmupStableDecay) Validate() error {
	if err := checkSchedule(ScheduleWarmupStableDecay, w.Warmup, w.Total, w.Min); err != nil {
		return err
	}
	if w.Decay < 1 {
		return errors.Errorf("schedule %s: decay: want >= 1 step, got %d: without a decay use %s", ScheduleWarmupStableDecay, w.Decay, ScheduleConstant)
	}
	if w.Decay > w.Total-w.Warmup {
		return errors.Errorf("schedule %s: warmup %d and decay %d take more than the total of %d steps: shorten one of them", ScheduleWarmupStableDecay, w.Warmup, w.Decay, w.Total)
	}
	return nil
}

// Constant rises linearly from 0 to 1 over Warmup steps and stays there.
type Constant struct {
	Warmup        int
	WarmupFromOne bool // see [WarmupCosine]
}

// Factor implements [Schedule].
func (c Constant) Factor(step int) float64 {
	if step < c.Warmup {
		return warmup(step, c.Warmup, c.WarmupFromOne)
	}
	return 1
}

// Validate wants Warmup >= 0.
func (c Constant) Validate() error { return checkWarmup(ScheduleConstant, c.Warmup) }

func warmup(step, steps int, fromOne bool) float64 {
	step = max(step, 0)
	if fromOne {
		step++
	}
	return float64(step) / float64(steps)
}

func checkWarmup(name string, warmup int) error {
	if warmup < 0 {
		return errors.Errorf("schedule %s: warmup: want >= 0 steps, got %d", name, warmup)
	}
	return nil
}

func checkSchedule(name string, warmup, total int, minimum float64) error {
	if err := checkWarmup(name, warmup); err != nil {
		return err
	}
	switch {
	case total < 1:
		return errors.Errorf("schedule %s: total: want >= 1 step, got %d", name, total)
	case warmup > total:
		return errors.Errorf("schedule %s: warmup of %d steps is longer than the total of %d: shorten it", name, warmup, total)
	case !(minimum >= 0 && minimum <= 1): // NaN too
		return errors.Errorf("schedule %s: min: want a fraction of the peak rate in [0, 1], got %v", name, minimum)
	}
	return nil
}
