package stream

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/stream/linear"
)

// Output names what the last norm reads.
func (s *altUp) Output() string { return altUpOut }

// Carry carries the n streams between blocks. Within a block it carries h and, below h, the
// predicted streams, with the coefficients and the sizes of the run. Without a run predictions are
// the streams themselves, corrections are h - P_0, and projections are not scaled.
func (s *altUp) Carry(f *Frozen) {
	n, d := s.config.N, s.c.D
	tables := linear.Stack{linear.Identity(d)}
	for _, w := range s.in {
		tables = append(tables, s.sized(f, w, embeddingHook, 1))
	}
	s.CarrySites(f, tables, func(at Site) {
		sites, name := s.Sites(at.Block), altUpName(at.Block)
		if at == sites[0] {
			s.carryPredict(f, name)
		}
		if g, ok := s.inner.(*gemma); ok {
			g.carrySite(f, at, n+1, at.Name()+".read")
		} else {
			s.carrySite(f, at, n+1)
		}
		if at == sites[len(sites)-1] {
			s.carryCorrect(f, name)
		}
	})
	last := altUpName(s.c.Layers-1) + altUpStreams
	ends := linear.Stack{linear.Row(n, 0, d)}
	for j, w := range s.out {
		ends = append(ends, linear.Chain{linear.Row(n, j+1, d), s.sized(f, w, last, n)})
	}
	s.CarryEnd(f, linear.Chain{ends, linear.Rows(d, slices.Repeat([]float64{1 / float64(n)}, n))})
}

// carryPredict adds the step from X to P_0 and P.
func (s *altUp) carryPredict(f *Frozen, name string) {
	n := s.config.N
	t := f.Recorded(name+altUpPredict, n*n)
	f.Step(linear.Mix{In: n, Out: n + 1, Width: s.c.D, At: func(token, i, j int) float64 {
		i = max(0, i-1)
		if t == nil {
			return kronecker(i, j)
		}
		return kronecker(i, j) + t[(token*n+i)*n+j]
	}})
}

// carryCorrect adds the step from h and P to X.
func (s *altUp) carryCorrect(f *Frozen, name string) {
	n := s.config.N
	factors := f.Recorded(name+altUpCorrect, n)
	f.Step(linear.Mix{In: n + 1, Out: n, Width: s.c.D, At: func(token, i, j int) float64 {
		factor := 1.
		if factors != nil {
			factor = factors[token*n+i]
		}
		switch j {
		case 0:
			return factor
		case 1:
			return kronecker(i, 0) - factor
		}
		return kronecker(i, j-1)
	}})
}

// sized returns the map of a projection by w, times the factor that in the run gave the result the
// size of a token's first stream. The given hook recorded the token's streams.
func (s *altUp) sized(f *Frozen, w *gorgonia.Node, hook string, streams int) linear.Map {
	d := s.c.D
	product, like := f.Recorded(w.Name()+productHook, d), f.Recorded(hook, streams*d)
	square := func(x []float64) float64 { return floats.Dot(x, x) / float64(d) }
	return linear.Chain{s.matrix(w), linear.Mix{In: 1, Out: 1, Width: d, At: func(t, _, _ int) float64 {
		if product == nil || like == nil {
			return 1
		}
		return math.Sqrt(square(like[t*streams*d:][:d]) / max(square(product[t*d:][:d]), kernel.MatchFloor))
	}}}
}
