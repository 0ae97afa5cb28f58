package optim

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// Clip scales the gradient so that its global norm is at most max; 0 means never.
func Clip(max float64) Part {
	return func(o *Optimizer) error {
		if !(max >= 0) {
			return errors.Errorf("clip: want a norm >= 0, got %g", max)
		}
		o.clip = max
		return nil
	}
}

// Adam sets the moments' decay rates and the denominator's eps (Kingma & Ba 2015).
func Adam(beta1, beta2, eps float64) Part {
	return func(o *Optimizer) error {
		if !(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1 && eps > 0) {
			return errors.Errorf("adam: want betas in [0, 1) and eps > 0, got %g, %g, %g", beta1, beta2, eps)
		}
		for i := range o.rows {
			o.rows[i].Beta1, o.rows[i].Beta2, o.rows[i].Eps = beta1, beta2, eps
		}
		return nil
	}
}

// Rate sets the peak learning rate and its schedule.
func Rate(peak float64, schedule Schedule) Part {
	return func(o *Optimizer) error {
		if !(peak > 0) {
			return errors.Errorf("rate: want > 0, got %g", peak)
		}
		if schedule == nil {
			return errors.New("rate: want a schedule, got none: Constant{} keeps the peak rate")
		}
		o.schedule = schedule
		for i := range o.rows {
			o.rows[i].Rate = peak
		}
		return nil
	}
}

// MuP divides each parameter's peak rate by its width ratio (Yang et al. 2022, Adam
// column of table 8: hidden weights only, the others' ratio is 1).
func MuP() Part {
	return func(o *Optimizer) error {
		for i := range o.rows {
			o.rows[i].divisor = o.rows[i].Param.WidthRatio
		}
		return nil
	}
}

// DecayMode says what multiplies the decay rate.
type DecayMode string

const (
	// Coupled multiplies by the scheduled learning rate, as PyTorch's AdamW does.
	Coupled DecayMode = "coupled"
	// Independent multiplies by the schedule's factor alone, as the RMT authors' code.
	Independent DecayMode = "independent"
)

// Decay adds weight decay to the parameters that mask lets through; a nil mask takes
// those that ask for it (ParamSpec.Decay).
func Decay(rate float64, mode DecayMode, mask func(*graph.Param) bool) Part {
	return func(o *Optimizer) error {
		if !(rate >= 0) {
			return errors.Errorf("decay: want a rate >= 0, got %g", rate)
		}
		if mode != Coupled && mode != Independent {
			return errors.Errorf("decay: want %q or %q, got %q", Coupled, Independent, mode)
		}
		if mask == nil {
			mask = func(p *graph.Param) bool { return p.Decay }
		}
		for i := range o.rows {
			if r := &o.rows[i]; mask(r.Param) {
				r.Decay, r.decays, r.independent = rate, true, mode == Independent
			}
		}
		return nil
	}
}
