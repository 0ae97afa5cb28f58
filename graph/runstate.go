package graph

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// runState is what ops need to know during a run. A Program sets it before the run.
type runState struct {
	pool       *kernel.Pool
	threads    int
	simulate   bool   // ops run the parts of their work one after another
	accumulate bool   // parameter gradients add to what is there
	step       uint64 // training step, for dropout masks
	stepped    bool   // an op on a device has asked for it
	profile    bool   // ops time themselves
	profiled   []*Op  // ops given to the device since its profile began
	values     int    // version of the parameters' values, from 1; 0: no run has begun
	widths     widths // scratch memory of ops in precision BF16
	failure    error  // the first error of an op, before the tape machine adds its registers and counters

	final   func(*Param)    // RunOptions.Final
	context context.Context // stops a run when it ends; nil: nothing does

	device cuda.Executor // nil on the CPU
	owned  []cuda.Array  // device memory of ops, outside the arena
}

// interrupted returns the error of the run's context if it has ended, otherwise nil.
func (r *runState) interrupted() error {
	if r.context == nil {
		return nil
	}
	return errors.WithStack(r.context.Err())
}

func (r *runState) workers() *kernel.Pool {
	if r.pool == nil {
		r.pool = kernel.NewPool(r.threads)
		if r.simulate {
			r.pool.Simulate()
		}
	}
	return r.pool
}
