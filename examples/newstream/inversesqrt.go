package main

import (
	"math"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/optim"
)

// InverseSqrt is the schedule train.schedule of kind inverse-sqrt (Vaswani et al. 2017, arXiv 1706.03762, section 5.3): the
// rate rises linearly over the warmup, and falls by the inverse square root of the step,
//
//	step < Warmup           (step+1) / Warmup
//	Warmup <= step          sqrt(Shift+Warmup) / sqrt(Shift+step+1), at least Min
type InverseSqrt struct {
	Shift int `yaml:"shift" min:"0" help:"steps that are added to the step under the root: a slower fall at first"`

	optim.ScheduleOptions // a run's; untagged, they are no keys
}

// Name is inverse-sqrt.
func (InverseSqrt) Name() string { return "inverse-sqrt" }

// With is the schedule of a run.
func (s InverseSqrt) With(o optim.ScheduleOptions) (optim.Schedule, error) {
	if o.Warmup < 0 || o.Warmup+s.Shift < 1 {
		return nil, layers.Setting("train.schedule.shift", "want >= 1 without a warmup, got %d", s.Shift)
	}
	s.ScheduleOptions = o
	return s, nil
}

// Factor is the share of the peak rate at a step, from 0.
func (s InverseSqrt) Factor(step int) float64 {
	if step < s.Warmup {
		return float64(max(step, 0)+1) / float64(s.Warmup)
	}
	return max(s.Min, math.Sqrt(float64(s.Shift+s.Warmup)/float64(s.Shift+step+1)))
}
