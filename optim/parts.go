package optim

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// Part configures an Optimizer, or a Group of its parameters.
type Part func(*composer) error

// composer is what parts configure.
type composer struct {
	rows   []*Row
	whole  *Optimizer // nil in a Group
	groups []func() error
}

// configure lets the parts configure all parameters of an optimizer, and then its groups.
func configure(o *Optimizer, parts []Part) error {
	c := &composer{whole: o}
	for i := range o.rows {
		c.rows = append(c.rows, &o.rows[i])
	}
	if err := c.apply(parts); err != nil {
		return err
	}
	for _, group := range c.groups {
		if err := group(); err != nil {
			return err
		}
	}
	return nil
}

// apply lets the parts configure the rows.
func (c *composer) apply(parts []Part) error {
	for _, part := range parts {
		if err := part(c); err != nil {
			return err
		}
	}
	return nil
}

// Group applies parts to the parameters for which in returns true. They override the parts of
// the whole optimizer, wherever they are in the list; if several groups accept a parameter,
// the last one counts. A Rate in a group has no schedule, because all parameters share one.
func Group(in func(*graph.Param) bool, parts ...Part) Part {
	return func(c *composer) error {
		if in == nil {
			return errors.New("group: want a function that chooses parameters, got nil")
		}
		if c.whole == nil {
			return errors.New("group: want no group within a group")
		}
		c.groups = append(c.groups, func() error {
			chosen := &composer{}
			for _, r := range c.rows {
				if in(r.Param) {
					chosen.rows = append(chosen.rows, r)
				}
			}
			return errors.Wrap(chosen.apply(parts), "group")
		})
		return nil
	}
}

// Clip scales the gradient so that its global norm is at most max; 0 means never.
func Clip(max float64) Part {
	return func(c *composer) error {
		if !(max >= 0) {
			return errors.Errorf("clip: want a norm >= 0, got %g", max)
		}
		if c.whole == nil {
			return errors.New("clip: want it over all parameters, got it in a group")
		}
		c.whole.clip = max
		return nil
	}
}

// Precision sets the precision of the rules' matrix products on the CPU: with graph.BF16 Muon's
// products read bfloat16. Weights, gradients and state keep their types. A device has its own
// precision.
func Precision(p graph.Precision) Part {
	return func(c *composer) error {
		if c.whole == nil {
			return errors.New("precision: want one for all parameters, got it in a group")
		}
		c.whole.precision = p
		return nil
	}
}

// Rate sets the peak learning rate and its schedule. In a Group the schedule is nil.
func Rate(peak float64, schedule Schedule) Part {
	return func(c *composer) error {
		if !(peak > 0) {
			return errors.Errorf("rate: want > 0, got %g", peak)
		}
		switch {
		case c.whole == nil && schedule != nil:
			return errors.New("rate: want no schedule in a group: there is one for all parameters")
		case c.whole != nil && schedule == nil:
			return errors.New("rate: want a schedule, got none: Constant{} keeps the peak rate")
		case c.whole != nil:
			c.whole.schedule = schedule
		}
		for _, r := range c.rows {
			r.Rate = peak
		}
		return nil
	}
}

// MuP divides each parameter's peak rate by the rule's divisor for the parameter's width ratio; for
// Adam that is the ratio itself (Yang et al. 2022, table 8). Only hidden weights have a ratio other
// than 1.
func MuP() Part {
	return func(c *composer) error {
		for _, r := range c.rows {
			r.muP = true
		}
		return nil
	}
}

// DecayMode says what multiplies the decay rate.
type DecayMode string

const (
	// Coupled multiplies by the scheduled learning rate, as PyTorch's AdamW does.
	Coupled DecayMode = "coupled"
	// Independent multiplies by the schedule's factor alone, as the RMT authors' code does.
	Independent DecayMode = "independent"
)

// Decay adds weight decay to the parameters that mask accepts; a nil mask accepts those with
// ParamSpec.Decay set.
func Decay(rate float64, mode DecayMode, mask func(*graph.Param) bool) Part {
	return func(c *composer) error {
		if !(rate >= 0) {
			return errors.Errorf("decay: want a rate >= 0, got %g", rate)
		}
		if mode != Coupled && mode != Independent {
			return errors.Errorf("decay: want %q or %q, got %q", Coupled, Independent, mode)
		}
		if mask == nil {
			mask = func(p *graph.Param) bool { return p.Decay }
		}
		for _, r := range c.rows {
			if mask(r.Param) {
				r.Decay, r.decays, r.independent = rate, true, mode == Independent
			}
		}
		return nil
	}
}
