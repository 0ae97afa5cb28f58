package graph

import (
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// runState is what ops need to know while they run. A Program sets it before a run.
type runState struct {
	pool       *kernel.Pool
	threads    int
	accumulate bool   // parameter gradients add to what is there
	step       uint64 // training step, for dropout masks
	profile    bool   // ops time themselves
	failure    error  // of an op; the tape machine wraps it in its registers and counters

	device cuda.Executor // nil on the CPU
	owned  []cuda.Array  // device memory of ops, outside the arena
}

func (r *runState) workers() *kernel.Pool {
	if r.pool == nil {
		r.pool = kernel.NewPool(r.threads)
	}
	return r.pool
}
