package graph

import (
	"context"
	"time"

	"github.com/pkg/errors"
)

// RunOptions say how one run differs from another.
type RunOptions struct {
	// Accumulate adds to the parameter gradients instead of replacing them. The parameters are those of the run before: copies of
	// them in precision BF16 on the CPU are kept.
	Accumulate bool
	Step       uint64 // training step, for dropout masks
	Profile    bool   // time the run and each op in it, for Program.Profile and, on a GPU, EndProfile
	// Context ends the run early, with its error: between two ops of this package, or only before the first on
	// a GPU. What the run was to compute is then partly there. nil: nothing ends it.
	Context context.Context
	// Rows say, with a Cache, which of its rows those of the program stand for, and how many of their tokens
	// are new; program rows beyond them have none. nil: the cache's first rows, with all tokens.
	Rows []RunRow
}

// Run executes the program once. With a Cache its rows then move past the tokens they were given.
func (p *Program) Run(o RunOptions) error {
	if p.vm == nil {
		return errors.New("graph: want an open program, got a closed one")
	}
	if c := p.options.Cache; c != nil {
		if err := c.begin(o.Rows, p.rows, p.tokens); err != nil {
			return err
		}
	}
	begin, runtime := time.Now(), p.builder.runtime
	if err := p.profileDevice(o.Profile); err != nil {
		return err
	}
	runtime.accumulate, runtime.step, runtime.profile = o.Accumulate, o.Step, o.Profile
	runtime.failure, runtime.context = nil, o.Context
	if !o.Accumulate || runtime.values == 0 {
		runtime.values++
	}
	if err := runtime.interrupted(); err != nil {
		return errors.Wrap(err, "graph: run")
	}
	p.vm.Reset()
	if err := p.vm.RunAll(); err != nil {
		if runtime.failure != nil {
			err = runtime.failure
		}
		return errors.Wrap(err, "graph: run")
	}
	if c := p.options.Cache; c != nil {
		c.advance()
	}
	if !o.Profile {
		return nil
	}
	defer p.runs.add(begin)
	if runtime.device == nil {
		return nil
	}
	return errors.Wrap(runtime.device.Synchronize(), "graph: run")
}

// Close ends the program's workers.
func (p *Program) Close() {
	if p.vm != nil {
		_ = p.vm.Close()
		p.vm = nil
	}
	if p.cached {
		p.cached = false
		p.options.Cache.leave()
	}
	if p.builder == nil {
		return
	}
	p.builder.runtime.release()
	if p.builder.runtime.pool != nil {
		p.builder.runtime.pool.Close()
	}
}
