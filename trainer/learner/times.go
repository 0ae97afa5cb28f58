package learner

import (
	"time"

	"github.com/residua-go/residua/graph/kernel"
)

// Times holds the durations of the profiled steps. Program().Profile() returns the times of
// the ops, Program().Kernels() those of a GPU's kernels.
type Times struct {
	Steps     int           // number of profiled steps
	Step      time.Duration // total time of those steps
	Data      time.Duration // drawing batches
	Optimizer time.Duration // clipping and update; in a Group also sending the new weights
	Ranks     time.Duration // in a Group: waiting for the sums of gradients after the backward pass
	// Simulation holds the simulated times of the optimizer's threads, with Compute.Simulate.
	Simulation kernel.Simulation
}

// Profile switches profiling on or off for the steps to come; it is off at first.
func (l *Learner) Profile(on bool) { l.profile = on }

// Times returns how long the profiled steps took, zeros if there were none.
func (l *Learner) Times() Times { return l.times }

// timed returns the current time while profiling, otherwise the zero time.
func (l *Learner) timed() time.Time {
	if !l.profile {
		return time.Time{}
	}
	return time.Now()
}

// add adds the time since begin to a part; it does nothing for the zero time.
func (l *Learner) add(part *time.Duration, begin time.Time) {
	if !begin.IsZero() {
		*part += time.Since(begin)
	}
}

// endStep counts a step that is complete, then reads the device's own timings.
func (l *Learner) endStep(begin time.Time) error {
	if begin.IsZero() {
		return nil
	}
	l.times.Steps++
	l.add(&l.times.Step, begin)
	return l.program.EndProfile()
}
