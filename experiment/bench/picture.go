package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/internal/bars"
)

// Picture is each model's speed in GFLOPS of its own matrix products, which makes sizes comparable, next to PyTorch's where that was
// measured.
func (r *Report) Picture() bars.Chart {
	c := bars.Chart{Title: "Training speed, " + r.Machine.precision() + ", full steps", Format: "%.0f",
		Axis: fmt.Sprintf("GFLOPS of matrix products (peak %.0f, %s)", r.Machine.PeakGFLOPS, r.Machine.name())}
	if len(r.PyTorch) == 0 {
		for _, m := range r.Models {
			c.Rows = append(c.Rows, bars.Row{Name: m.Name, Values: []float64{m.GFLOPS}})
		}
		return c
	}
	c.Series = []string{implementationName(residua)}
	var modes []string
	for _, mode := range []string{Compiled, Eager} {
		if slices.ContainsFunc(r.PyTorch, func(p PyTorchResult) bool { return !math.IsNaN(p.gflops(mode)) }) {
			modes, c.Series = append(modes, mode), append(c.Series, implementationName(mode))
		}
	}
	for _, p := range r.PyTorch {
		row := bars.Row{Name: p.Name, Values: []float64{p.Residua.GFLOPS}}
		for _, mode := range modes {
			row.Values = append(row.Values, p.gflops(mode))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

// gflops is a baseline's speed, NaN if it was not measured.
func (p PyTorchResult) gflops(mode string) float64 {
	i := slices.IndexFunc(p.Baselines, func(b BaselineResult) bool { return b.Mode == mode })
	if i < 0 {
		return math.NaN()
	}
	return p.Baselines[i].GFLOPS
}
