package main

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/optim"
)

// Lion is the kind lion of train.optim: it updates all parameters by the sign of a momentum (Chen
// et al. 2023, arXiv 2302.06675, algorithm 2):
//
//	u = sign(b1 m + (1-b1) g);   w <- w - rate u - decay w;   m <- b2 m + (1-b2) g
//
// It needs a third to a tenth of AdamW's rate. It keeps one moment for each parameter, and has no
// kernel for a GPU.
type Lion struct {
	Beta1 float64 `yaml:"beta1" help:"share of the momentum in an update"`
	Beta2 float64 `yaml:"beta2" help:"decay of the momentum"`
}

// Name returns the kind that train.optim names.
func (Lion) Name() string { return "lion" }

// Parts returns one part that gives all parameters the rule; rate, schedule, decay and clipping
// come from the section train.
func (l Lion) Parts() ([]optim.Part, error) {
	for _, beta := range []float64{l.Beta1, l.Beta2} {
		if !(beta >= 0 && beta < 1) {
			return nil, errors.Errorf("want betas in [0, 1), got %g and %g", l.Beta1, l.Beta2)
		}
	}
	return []optim.Part{optim.Use(&lionRule{Lion: l})}, nil
}

// lionRule is Lion with the parameter that its workers are updating.
type lionRule struct {
	Lion
	task lionTask
}

func (l *lionRule) String() string {
	return fmt.Sprintf("Lion with betas %g, %g", l.Beta1, l.Beta2)
}

// State returns the name of the momentum, which no other rule uses.
func (*lionRule) State() []string { return []string{"lion_momentum"} }

// Open returns an error unless all parameters are float32, the type of training.
func (*lionRule) Open(rows []*optim.Row) error {
	for _, r := range rows {
		if r.Param.Value.Dtype() != tensor.Float32 {
			return errors.Errorf("lion: parameter %q: want float32, got %v", r.Param.Name, r.Param.Value.Dtype())
		}
	}
	return nil
}

// WidthDivisor returns ratio, as Adam does, since the entries of both updates have the same
// size at every width.
func (*lionRule) WidthDivisor(ratio float64) (float64, error) { return ratio, nil }

// Update updates one parameter after another; the workers share each.
func (l *lionRule) Update(rows []*optim.Row, n optim.Now) {
	for _, r := range rows {
		p := r.Param
		l.task = lionTask{w: p.Value.Float32s(), g: p.Grad.Float32s(), m: p.Moment1.Float32s(), scale: float32(n.GradScale),
			rate: float32(n.Factor * r.Rate), decay: float32(n.Factor * r.Decay), beta1: float32(l.Beta1), beta2: float32(l.Beta2)}
		n.Pool.Do(p.Size(), &l.task)
	}
}

type lionTask struct {
	w, g, m                          []float32
	scale, rate, decay, beta1, beta2 float32
}

// Part updates the entries [lo, hi).
func (t *lionTask) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		g := t.scale * t.g[i]
		u := t.beta1*t.m[i] + (1-t.beta1)*g
		step := t.decay * t.w[i]
		switch {
		case u > 0:
			step += t.rate
		case u < 0:
			step -= t.rate
		}
		t.w[i] -= step
		t.m[i] = t.beta2*t.m[i] + (1-t.beta2)*g
	}
}
