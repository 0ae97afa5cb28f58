package main

import (
	"math"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/optim"
)

// InverseSqrt is the kind inverse-sqrt of train.schedule (Vaswani et al. 2017, arXiv 1706.03762,
// section 5.3): the rate rises linearly over the warmup, then falls with the inverse square root of
// the step,
//
//	step < Warmup           (step+1) / Warmup
//	Warmup <= step          sqrt(Shift+Warmup) / sqrt(Shift+step+1), at least Min
type InverseSqrt struct {
	Shift int `yaml:"shift" min:"0" help:"steps that are added to the step under the root: a slower fall at first"`

	optim.ScheduleOptions // set for a run; without tags, so they are not keys
}

// Name returns the kind that train.schedule names.
func (InverseSqrt) Name() string { return "inverse-sqrt" }

// With returns the schedule for a run with the given options.
func (s InverseSqrt) With(o optim.ScheduleOptions) (optim.Schedule, error) {
	if o.Warmup < 0 || o.Warmup+s.Shift < 1 {
		return nil, layers.Setting("train.schedule.shift", "want >= 1 without a warmup, got %d", s.Shift)
	}
	s.ScheduleOptions = o
	return s, nil
}

// Factor returns the fraction of the peak rate at a step, counted from 0.
func (s InverseSqrt) Factor(step int) float64 {
	if step < s.Warmup {
		return float64(max(step, 0)+1) / float64(s.Warmup)
	}
	return max(s.Min, math.Sqrt(float64(s.Shift+s.Warmup)/float64(s.Shift+step+1)))
}
