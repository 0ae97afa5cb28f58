package graph

import (
	"context"

	"github.com/pkg/errors"

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
	profiled   []*Op  // that a device has been given since its profile began
	values     int    // number of the parameters' values, from 1; 0: no run has begun
	widths     widths // scratch of ops in precision BF16
	failure    error  // of an op; the tape machine wraps it in its registers and counters

	final   func(*Param)    // RunOptions.Final
	context context.Context // ends a run early; nil: nothing does

	device cuda.Executor // nil on the CPU
	owned  []cuda.Array  // device memory of ops, outside the arena
}

// interrupted returns the error of a context that has ended, nil without one.
func (r *runState) interrupted() error {
	if r.context == nil {
		return nil
	}
	return errors.WithStack(r.context.Err())
}

func (r *runState) workers() *kernel.Pool {
	if r.pool == nil {
		r.pool = kernel.NewPool(r.threads)
	}
	return r.pool
}
