package learner

import "time"

// Times are what the profiled steps took. Program().Profile() has the times of the ops, Kernels() those of a GPU's kernels.
type Times struct {
	Steps     int           // made by Step
	Step      time.Duration // of those steps
	Data      time.Duration // drawing batches
	Optimizer time.Duration // clipping and update
}

// Profile switches the profiling of the steps to come on or off; it is off at first.
func (l *Learner) Profile(on bool) { l.profile = on }

// Times returns what the profiled steps took, 0 without any.
func (l *Learner) Times() Times { return l.times }

// timed returns the time now if it is profiled, otherwise the zero time.
func (l *Learner) timed() time.Time {
	if !l.profile {
		return time.Time{}
	}
	return time.Now()
}

// add counts the time since begin into a part; not since the zero time.
func (l *Learner) add(part *time.Duration, begin time.Time) {
	if !begin.IsZero() {
		*part += time.Since(begin)
	}
}

// endStep counts a whole step. What the device noted of it is read afterwards.
func (l *Learner) endStep(begin time.Time) error {
	if begin.IsZero() {
		return nil
	}
	l.times.Steps++
	l.add(&l.times.Step, begin)
	return l.program.EndProfile()
}
