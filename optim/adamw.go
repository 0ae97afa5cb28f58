package optim

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Adam sets the moments' decay rates and the denominator's eps (Kingma & Ba 2015; with Decay it
// is AdamW, Loshchilov & Hutter 2019):
//
//	m <- b1 m + (1-b1) g;  v <- b2 v + (1-b2) g^2;  u = mhat/(sqrt(vhat)+eps)   hats: bias-corrected
func Adam(beta1, beta2, eps float64) Part {
	return func(c *composer) error {
		if !(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1 && eps > 0) {
			return errors.Errorf("adam: want betas in [0, 1) and eps > 0, got %g, %g, %g", beta1, beta2, eps)
		}
		return Use(&adamW{beta1: beta1, beta2: beta2, eps: eps})(c)
	}
}

// adamW is AdamW with the scratch memory of its kernels.
type adamW struct {
	beta1, beta2, eps float64
	f32               kernel.AdamW[float32]
	f64               kernel.AdamW[float64]
}

func (a *adamW) String() string {
	return fmt.Sprintf("AdamW with betas %g, %g and eps %g", a.beta1, a.beta2, a.eps)
}

func (a *adamW) State() []string { return []string{"moment1", "moment2"} }

func (a *adamW) Open([]*Row) error { return nil }

// WidthDivisor returns the ratio itself (Yang et al. 2022, Adam column of table 8).
func (a *adamW) WidthDivisor(ratio float64) (float64, error) { return ratio, nil }

// Unit returns 1 entry, because Adam updates every entry on its own.
func (a *adamW) Unit(*graph.Param) (entries int, work float64) { return 1, 1 }

func (a *adamW) OnDevice(row *graph.UpdateRow) {
	row.Beta1, row.Beta2, row.Eps = a.beta1, a.beta2, a.eps
}

// Update makes one pass over all parameters.
func (a *adamW) Update(rows []*Row, n Now) {
	for _, r := range rows {
		p := r.Param
		d := kernel.AdamWParams{LR: n.Factor * r.Rate, Beta1: a.beta1, Beta2: a.beta2, Eps: a.eps, Decay: n.Factor * r.Decay,
			Step: n.Step, GradScale: n.GradScale}
		if p.Value.Dtype() == tensor.Float64 {
			a.f64.Add(p.Value.Float64s()[r.From:r.To], p.Grad.Float64s()[r.From:r.To], p.Moment1.Float64s(), p.Moment2.Float64s(), d)
		} else {
			a.f32.Add(p.Value.Float32s()[r.From:r.To], p.Grad.Float32s()[r.From:r.To], p.Moment1.Float32s(), p.Moment2.Float32s(), d)
		}
	}
	a.f64.Run(n.Pool)
	a.f32.Run(n.Pool)
}
