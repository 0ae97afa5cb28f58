package graph

import (
	"time"

	"github.com/pkg/errors"
)

// RunOptions say how one run differs from another.
type RunOptions struct {
	Accumulate bool   // add to the parameter gradients instead of replacing them
	Step       uint64 // training step, for dropout masks
	Profile    bool   // time the run and each op in it, for Program.Profile
}

// Run executes the program once. With a Cache it then moves past the tokens it was given.
func (p *Program) Run(o RunOptions) error {
	if p.vm == nil {
		return errors.New("graph: want an open program, got a closed one")
	}
	if c := p.options.Cache; c != nil {
		if err := c.checkRoom(p.tokens); err != nil {
			return err
		}
	}
	runtime := p.builder.runtime
	runtime.accumulate, runtime.step, runtime.profile = o.Accumulate, o.Step, o.Profile
	if o.Profile {
		defer p.runs.add(time.Now())
	}
	runtime.failure = nil
	p.vm.Reset()
	if err := p.vm.RunAll(); err != nil {
		if runtime.failure != nil {
			err = runtime.failure
		}
		return errors.Wrap(err, "graph: run")
	}
	if c := p.options.Cache; c != nil {
		c.advance(p.tokens)
	}
	return nil
}

// Close ends the program's workers.
func (p *Program) Close() {
	if p.vm != nil {
		_ = p.vm.Close()
		p.vm = nil
	}
	if p.builder == nil {
		return
	}
	p.builder.runtime.release()
	if p.builder.runtime.pool != nil {
		p.builder.runtime.pool.Close()
	}
}
