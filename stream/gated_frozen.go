package stream

import (
	"slices"

	"github.com/residua-go/residua/stream/linear"
)

// Carry carries the rows unchanged. A site reads each entry multiplied by the run's gate and
// divided by its row's root mean square, and writes to each row with the run's factor. Without a
// run gates are 1/2, and factors and root mean squares 1.
func (s *gatedResidual) Carry(f *Frozen) {
	n, d := s.config.N, s.c.D
	rows := "embedding.out"
	s.CarrySites(f, copies(n, d), func(at Site) {
		factors := func(int, int) float64 { return 1 }
		projection := f.Recorded(at.Name()+projectionHook, s.config.Rank+n)
		if projection != nil {
			factors = func(t, i int) float64 {
				return 2 * logistic(projection[t*(s.config.Rank+n)+s.config.Rank+i]/float64(n))
			}
		}
		s.carryThrough(f, at, s.frozenRead(f, s.reads[at.Index], projection, rows),
			linear.Mix{In: 1, Out: n, Width: d, At: func(t, i, _ int) float64 { return factors(t, i) }})
		rows = at.Name() + ".stream"
	})
	last := s.reads[len(s.reads)-1]
	s.readOut(f, s.frozenRead(f, last, f.Recorded(last.name+projectionHook, s.config.Rank), rows))
}

// frozenRead returns the map to u from rows [n, D], which a hook recorded: a factor for each entry,
// then the mean over the rows.
func (s *gatedResidual) frozenRead(f *Frozen, read gatedRead, projection []float64, rows string) linear.Map {
	n, size := s.config.N, s.config.N*s.c.D
	mean := linear.Rows(s.c.D, slices.Repeat([]float64{1 / float64(n)}, n))
	norm := linear.Norm{Gain: s.values(read.gain), Groups: n}.At(f.Recorded(rows, size), orEps(s.c.Norm.Eps))
	open := slices.Repeat([]float64{0.5}, size)
	if projection != nil {
		open = s.frozenGates(read, projection)
	}
	return linear.Chain{norm, linear.Scale{Factors: open, Size: size}, mean}
}

// frozenGates returns the gates G [T, n, D] of a read, computed from its projection.
func (s *gatedResidual) frozenGates(read gatedRead, x []float64) []float64 {
	n, rank, size, width := float64(s.config.N), s.config.Rank, s.config.N*s.c.D, read.down.Shape()[1]
	up := s.values(read.up) // [rank, n*D]
	open := make([]float64, len(x)/width*size)
	for t := range len(x) / width {
		gates := open[t*size : (t+1)*size]
		for j, v := range x[t*width : t*width+rank] {
			h := v / n * logistic(v/n)
			for e, w := range up[j*size : (j+1)*size] {
				gates[e] += h * w
			}
		}
		for e, a := range gates {
			gates[e] = logistic(a)
		}
	}
	return open
}
