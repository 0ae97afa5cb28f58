package trainer

import (
	"time"

	"github.com/residua-go/residua/graph"
)

// ProfileFile is the name of the picture of a profile in a run folder.
const ProfileFile = "profile.svg"

// Profile tells how the time of a run's steps was spent. The parts sum to Seconds, except for what
// the trainer itself does between them.
type Profile struct {
	Steps     int     // profiled steps: all but the first, which allocates buffers
	Seconds   float64 // of those steps, without the evaluations and checkpoints between them
	Data      float64 // drawing batches
	Optimizer float64 // clipping and update; with several ranks also sending the new weights
	Ranks     float64 // waiting for other ranks' gradients after the backward pass
	// Threads is the number of threads that Options.Simulate simulates; 0: none. Simulated
	// then holds the optimizer's simulated times, in the form of an op's.
	Threads   int
	Simulated graph.OpProfile
	// OptimizerBytes counts what clipping and update read and write, of the entries that this rank
	// updates: the gradient once for its norm, then weight, gradient and the optimizer's state, of
	// which all but the gradient are written back. It leaves out what Muon's matrix products read
	// and write.
	OptimizerBytes int
	Ops            []graph.OpProfile     // of the training program; the last entry is the machine that runs them
	Kernels        []graph.KernelProfile // the kernels that these steps ran on a GPU
}

// Profile reports the steps so far; it is empty without Options.Profile.
func (t *Trainer) Profile() Profile {
	if !t.options.Profile {
		return Profile{}
	}
	s := t.learner.Times()
	const float32Bytes = 4
	entries := 0
	for _, r := range t.learner.Optimizer().Table() { // the gradient twice, the weight and the state read and written
		entries += (4 + 2*len(r.Rule.State())) * (r.To - r.From)
	}
	p := Profile{
		Steps: s.Steps, Seconds: s.Step.Seconds(), Data: s.Data.Seconds(), Optimizer: s.Optimizer.Seconds(), Ranks: s.Ranks.Seconds(),
		OptimizerBytes: s.Steps * float32Bytes * entries, Ops: t.learner.Program().Profile(), Kernels: t.learner.Program().Kernels(),
	}
	if t.options.Simulate {
		p.Threads = t.run.Device.Threads
		all := func(d time.Duration) float64 { return float64(s.Steps) * d.Seconds() }
		p.Simulated = graph.OpProfile{Alone: all(s.Simulation.Alone()), Shared: all(s.Simulation.Shared()), Even: all(s.Simulation.Even())}
	}
	return p
}
