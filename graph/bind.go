package graph

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func (p *Program) planBuffers() (err error) {
	p.plan, err = newPlan(p.builder.g, p.liveAtEnd(), !p.options.Separate, p.builder.fuses())
	return err
}

func (p *Program) bind() error {
	if err := p.bindOutputs(); err != nil {
		return err
	}
	p.inputs = map[string]*tensor.Dense{}
	for _, n := range p.builder.inputs {
		value := tensor.New(tensor.Of(n.Dtype()), tensor.WithShape(n.Shape()...))
		if err := gorgonia.Let(n, value); err != nil {
			return errors.Wrapf(err, "input %q", n.Name())
		}
		p.inputs[n.Name()] = value
		if shape := n.Shape(); p.tokens == 0 && n.Dtype() == tensor.Int32 && len(shape) == 2 {
			p.rows, p.tokens = shape[0], shape[1]
		}
	}
	if p.options.Cache != nil && p.tokens == 0 {
		return errors.New("want an input of tokens, int32 [batch, seq], to count by in a cache, got none")
	}
	return nil
}

// bindOutputs gives outputs and gradients their memory.
func (p *Program) bindOutputs() error {
	if p.builder.OnDevice() {
		return p.bindDevice()
	}
	if !p.options.Separate {
		p.plan.bind()
	}
	store, trained := p.builder.options.Store, p.builder.trained()
	for i, grad := range p.gradients {
		opOf(grad).buffer.bindTo(store.ensureGrad(trained[i].param))
	}
	return nil
}

func (p *Program) bindDevice() error {
	if !p.options.Separate {
		if err := p.plan.bindDevice(p.builder.runtime); err != nil {
			return err
		}
	}
	trained := p.builder.trained()
	for i, grad := range p.gradients {
		a, err := p.builder.options.Store.residentGrad(trained[i].param)
		if err != nil {
			return err
		}
		opOf(grad).device = a
	}
	return nil
}

func (p *Program) compile() (err error) {
	if c := p.options.Cache; c != nil {
		if err := c.join(p.builder); err != nil {
			return err
		}
		p.cached = true
	}
	p.vm, err = p.tapeMachine()
	return err
}

// isStock tells whether a node's op is one of Gorgonia's own.
func isStock(n *gorgonia.Node) bool { return n.Op() != nil && opOf(n) == nil }

// tapeMachine compiles the graph for Gorgonia's tape machine, which takes time that grows with the
// square of the graph. If the program's context ends first, tapeMachine returns and leaves the
// compilation to finish in the background; it only reads the graph.
func (p *Program) tapeMachine() (gorgonia.VM, error) {
	if slices.ContainsFunc(p.builder.g.AllNodes(), isStock) {
		if err := giveStockKernels(); err != nil {
			return nil, err
		}
	}
	type compiled struct {
		vm  gorgonia.VM
		err error
	}
	done := make(chan compiled, 1)
	graph := p.builder.g
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- compiled{nil, errors.Errorf("gorgonia: %v", r)}
			}
		}()
		done <- compiled{gorgonia.NewTapeMachine(graph), nil}
	}()
	var ended <-chan struct{}
	if ctx := p.options.Context; ctx != nil {
		ended = ctx.Done()
	}
	select {
	case c := <-done:
		return c.vm, c.err
	case <-ended:
		return nil, errors.WithStack(p.options.Context.Err())
	}
}
