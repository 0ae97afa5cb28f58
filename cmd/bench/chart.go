package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/internal/bars"
)

// speedChart draws each model's speed in GFLOPS of its own matrix products, which makes
// sizes comparable, beside PyTorch's where that was measured.
func speedChart(r *report) bars.Chart {
	c := bars.Chart{Title: "Training speed, " + r.Machine.precision() + ", full steps", Format: "%.0f",
		Axis: fmt.Sprintf("GFLOPS of matrix products (peak %.0f, %s)", r.Machine.PeakGFLOPS, r.Machine.name())}
	if len(r.PyTorch) == 0 {
		for _, m := range r.Models {
			c.Rows = append(c.Rows, bars.Row{Name: m.Name, Values: []float64{m.GFLOPS}})
		}
		return c
	}
	names := map[string]string{compiled: "torch.compile", eager: "PyTorch eager"}
	c.Series = []string{"Residua"}
	var modes []string
	for _, mode := range []string{compiled, eager} {
		if slices.ContainsFunc(r.PyTorch[0].Rivals, func(v rivalResult) bool { return v.Mode == mode }) {
			modes, c.Series = append(modes, mode), append(c.Series, names[mode])
		}
	}
	for _, p := range r.PyTorch {
		row := bars.Row{Name: p.Name, Values: []float64{p.Ours.GFLOPS}}
		for _, mode := range modes {
			v := math.NaN()
			if i := slices.IndexFunc(p.Rivals, func(v rivalResult) bool { return v.Mode == mode }); i >= 0 {
				v = p.Rivals[i].GFLOPS
			}
			row.Values = append(row.Values, v)
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}
