package graph

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
)

// RunOptions say how a run differs from others.
type RunOptions struct {
	// Accumulate adds to the parameter gradients instead of replacing them. The parameters must not
	// have changed since the run before: in precision BF16 on the CPU, copies of them are reused.
	Accumulate bool
	Step       uint64 // training step, for dropout masks
	Profile    bool   // time the run and each op in it, for Program.Profile and, on a GPU, EndProfile
	// Final, if it is not nil, is called once for each parameter, when nothing more will be added
	// to its gradient in this run: between two ops, in the order of Program.FinalOrder. On a GPU it
	// is called only after all ops have been queued.
	Final func(*Param)
	// Context stops the run when it ends, with its error: between two ops of this package, on a GPU
	// only before the first op. The results are then incomplete. nil: nothing stops the run.
	Context context.Context
	// Rows say, with a Cache, which of its rows the program's rows extend, and how many of their
	// tokens are new; program rows beyond them have no tokens. nil: the cache's first rows, with
	// all tokens.
	Rows []RunRow
}

// Run executes the program once. With a Cache, its rows then advance past the new tokens.
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
	runtime.failure, runtime.context, runtime.final = nil, o.Context, o.Final
	if !o.Accumulate || runtime.values == 0 {
		runtime.values++
	}
	if err := runtime.interrupted(); err != nil {
		return errors.Wrap(err, "graph: run")
	}
	if err := p.compute(); err != nil {
		return errors.Wrap(err, "graph: run")
	}
	if runtime.device != nil && o.Final != nil {
		for _, param := range p.FinalOrder() {
			o.Final(param)
		}
	}
	if c := p.options.Cache; c != nil {
		c.advance()
	}
	if !o.Profile {
		return nil
	}
	defer p.runs.add(begin, nil)
	if runtime.device == nil {
		return nil
	}
	return errors.Wrap(runtime.device.Synchronize(), "graph: run")
}

// interpret runs the tape machine.
func (p *Program) interpret() error {
	p.vm.Reset()
	err := p.vm.RunAll()
	if err != nil && p.builder.runtime.failure != nil {
		return p.builder.runtime.failure
	}
	return err
}

// FinalOrder returns the parameters in the order in which a run finishes their gradients. It is the
// same for all programs with the same model, batch and recomputation. Without Gradients it is
// empty.
func (p *Program) FinalOrder() []*Param {
	gradients := slices.Clone(p.gradients)
	slices.SortFunc(gradients, func(a, b *gorgonia.Node) int { return cmp.Compare(p.plan.position[a], p.plan.position[b]) })
	params := make([]*Param, len(gradients))
	for i, n := range gradients {
		params[i] = opOf(n).gradientOf
	}
	return params
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
	p.replays.forget()
	p.builder.runtime.release()
	if p.builder.runtime.pool != nil {
		p.builder.runtime.pool.Close()
	}
}
