package trainer

import (
	"time"

	"github.com/residua-go/residua/graph"
)

// ProfileFile is the picture of a profile in a run folder.
const ProfileFile = "profile.svg"

// Profile is where the time of a run's steps went. The parts sum to Seconds but for what
// the trainer itself does between them.
type Profile struct {
	Steps     int     // profiled: all but the first, which makes buffers
	Seconds   float64 // of those steps; evaluation and checkpoints lie between steps
	Data      float64 // drawing batches
	Optimizer float64 // clipping and update
	// OptimizerBytes are what clipping and update read and write: the gradient for its
	// norm; weight, gradient and two moments, all but the gradient written back.
	OptimizerBytes int
	Ops            []graph.OpProfile // of the training program; the last is the tape machine
}

// Profile reports the steps so far; it is empty without Options.Profile.
func (t *Trainer) Profile() Profile {
	s := t.times
	if !s.wanted {
		return Profile{}
	}
	const float32Bytes, passes = 4, 8
	return Profile{
		Steps: s.steps, Seconds: s.whole.Seconds(), Data: s.data.Seconds(), Optimizer: s.optimizer.Seconds(),
		OptimizerBytes: s.steps * passes * float32Bytes * t.store.Size(), Ops: t.program.Profile(),
	}
}

// stepTimes sums what the profiled steps took.
type stepTimes struct {
	wanted, warm           bool // warm: a step has been done
	steps                  int
	whole, data, optimizer time.Duration
}

// on tells whether the current step is profiled.
func (s *stepTimes) on() bool { return s.wanted && s.warm }

// add counts the time since begin into a part.
func (s *stepTimes) add(part *time.Duration, begin time.Time) {
	if s.on() {
		*part += time.Since(begin)
	}
}

// endStep counts a whole step.
func (s *stepTimes) endStep(begin time.Time) {
	if s.on() {
		s.steps++
		s.whole += time.Since(begin)
	}
	s.warm = true
}
