package trainer

import "github.com/residua-go/residua/graph"

// ProfileFile is the picture of a profile in a run folder.
const ProfileFile = "profile.svg"

// Profile is where the time of a run's steps went. The parts sum to Seconds but for what
// the trainer itself does between them.
type Profile struct {
	Steps     int     // profiled: all but the first, which makes buffers
	Seconds   float64 // of those steps; evaluation and checkpoints lie between steps
	Data      float64 // drawing batches
	Optimizer float64 // clipping and update
	// OptimizerBytes are what clipping and update read and write: the gradient for its norm;
	// weight, gradient and the optimizer's state, all but the gradient written back. What Muon's
	// matrix products read and write is not in it.
	OptimizerBytes int
	Ops            []graph.OpProfile     // of the training program; the last is the machine that runs them
	Kernels        []graph.KernelProfile // of the steps, on a GPU
}

// Profile reports the steps so far; it is empty without Options.Profile.
func (t *Trainer) Profile() Profile {
	if !t.profile {
		return Profile{}
	}
	s := t.learner.Times()
	const float32Bytes = 4
	entries := 4 * t.store.Size() // the gradient twice, the weight read and written
	for _, state := range t.learner.Optimizer().State() {
		entries += 2 * state.Value.DataSize()
	}
	return Profile{
		Steps: s.Steps, Seconds: s.Step.Seconds(), Data: s.Data.Seconds(), Optimizer: s.Optimizer.Seconds(),
		OptimizerBytes: s.Steps * float32Bytes * entries, Ops: t.learner.Program().Profile(), Kernels: t.learner.Program().Kernels(),
	}
}
