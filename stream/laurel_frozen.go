package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/stream/linear"
)

// Carry keeps x and the streams before earlier sites, one below the other, the latest first. A site
// computes the next x from them. The weights do not depend on the input, so only the last norm's
// scale is frozen.
func (l *laurel) Carry(f *Frozen) {
	d, rows := l.c.D, max(1, l.config.Previous)
	x := firstOf(rows, d)
	l.CarrySites(f, transposed(x), func(at Site) {
		f.Read(at.Name(), x, l.After(at))
		alpha, beta := l.weights(l.sites[at.Index].weights)
		next := linear.Stack{linear.Chain{linear.Stack{x, l.frozenExtra(at, rows)}, linear.Rows(d, []float64{beta, beta})}}
		for j := range rows - 1 {
			next = append(next, linear.Row(rows, j, d))
		}
		f.Step(next)
		f.Write(at.Name(), linear.Chain{linear.Rows(d, []float64{alpha}), transposed(x)})
	})
	l.CarryEnd(f, x)
}

// weights returns a site's alpha and beta, given the parameter w; 1 and 1 without one.
func (l *laurel) weights(p *gorgonia.Node) (alpha, beta float64) {
	if p == nil {
		return 1, 1
	}
	w, c := l.values(p), l.config.WeightScale
	if l.config.Weights == laurelSoftmax {
		w = []float64{w[0] - w[1], w[1] - w[0]}
	}
	return c * logistic(w[0]), c * logistic(w[1])
}

// frozenExtra returns the map that computes s from x and the earlier streams, the given number of
// rows.
func (l *laurel) frozenExtra(at Site, rows int) linear.Map {
	site, d, rank, n := l.sites[at.Index], l.c.D, l.config.Rank, l.config.terms(at)
	gamma := make([]float64, rows)
	if site.gamma == nil {
		gamma[0] = indicator(n > 0)
	} else {
		copy(gamma, l.values(site.gamma))
	}
	if rank == 0 {
		return linear.Rows(d, gamma)
	}
	left := l.values(site.left)
	var parts linear.Stack
	for j := range n {
		w := table(d, rank, func(a, b int) float64 { return gamma[j] * left[(a*n+j)*rank+b] })
		parts = append(parts, linear.Chain{linear.Row(rows, j, d), linear.Matrix{W: w, In: d, Out: rank}})
	}
	return linear.Chain{parts, l.matrix(site.right)}
}
