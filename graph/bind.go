package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func (p *Program) planBuffers() (err error) {
	p.plan, err = newPlan(p.builder.g, p.liveAtEnd())
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
	if p.builder.onDevice() {
		return p.bindDevice()
	}
	if !p.options.Separate {
		p.plan.bind()
	}
	store := p.builder.options.Store
	for i, grad := range p.gradients {
		opOf(grad).buffer.bindTo(store.ensureGrad(p.builder.params[i].param))
	}
	return nil
}

func (p *Program) bindDevice() error {
	if !p.options.Separate {
		if err := p.plan.bindDevice(p.builder.runtime); err != nil {
			return err
		}
	}
	for i, grad := range p.gradients {
		a, err := p.builder.options.Store.residentGrad(p.builder.params[i].param)
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
	if m := newMachine(p.plan.order, p.builder.runtime); m != nil {
		p.vm = m
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("gorgonia: %v", r)
		}
	}()
	p.vm = gorgonia.NewTapeMachine(p.builder.g)
	return nil
}
