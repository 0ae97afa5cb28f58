package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/figure"
)

// Picture shows each model's speed in GFLOPS of its own matrix products, which makes sizes
// comparable, next to PyTorch's and JAX's if those were measured.
func (r *Report) Picture() figure.Bars {
	b := figure.Bars{Title: "Training speed, " + r.Machine.precision() + ", full steps", Format: "%.0f",
		YLabel: fmt.Sprintf("GFLOPS of matrix products (peak of one matrix product: %.0f, %s)", r.Machine.PeakGFLOPS, r.Machine.name())}
	if len(r.PyTorch) == 0 {
		for _, m := range r.Models {
			b.Add(m.Name, m.GFLOPS)
		}
		return b
	}
	for _, p := range r.PyTorch {
		b.Labels = append(b.Labels, p.Name)
	}
	for _, implementation := range []string{residua, Compiled, Padded, Eager, jaxOnXLA, Compiled + inFloat32, Eager + inFloat32} {
		if s := r.speeds(implementation); slices.ContainsFunc(s.Values, func(v float64) bool { return !math.IsNaN(v) }) {
			b.Series = append(b.Series, s)
		}
	}
	return b
}

// speeds returns an implementation's GFLOPS for each model, NaN if they were not measured.
func (r *Report) speeds(implementation string) figure.BarSeries {
	s := figure.BarSeries{Name: implementationName(implementation)}
	for _, p := range r.PyTorch {
		v := math.NaN()
		if implementation == residua {
			v = p.Residua.GFLOPS
		}
		for _, b := range p.Baselines {
			if b.Mode == implementation {
				v = b.GFLOPS
			}
		}
		s.Values = append(s.Values, v)
	}
	return s
}
