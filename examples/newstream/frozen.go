package main

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// Package analysis takes models apart by what Freeze and Static say: how what is written reaches the
// stream's end. It is as in a vector stream, once it has been multiplied by the gains.

// Freeze is the stream of a run.
func (s *scaled) Freeze(r stream.Record) (*stream.Frozen, error) {
	f, err := s.Vector.Freeze(r)
	if err != nil {
		return nil, err
	}
	return f, s.throughGains(f)
}

// Static is the stream without a run, for analyses of weights (stream.Weighted).
func (s *scaled) Static() *stream.Frozen {
	f := s.Vector.Static()
	if s.throughGains(f) != nil {
		return nil
	}
	return f
}

func (s *scaled) throughGains(f *stream.Frozen) error {
	for _, at := range s.sites() {
		if err := f.Precompose(at.Name(), s.gain(at)); err != nil {
			return err
		}
	}
	return nil
}

// gain is a sublayer's, zeros in a model that is only planned.
func (s *scaled) gain(at stream.Site) diagonal {
	p := s.b.Store().Param(s.gains[at.Index].Name())
	if p.Value == nil {
		return make(diagonal, p.Size())
	}
	return graph.Float64s(p.Value)
}

// diagonal is the linear.Map x -> g ⊙ x.
type diagonal []float64

func (g diagonal) Sizes() (in, out int) { return len(g), len(g) }

func (g diagonal) Apply(_ int, x []float64) []float64 {
	y := make([]float64, len(g))
	for i := range y {
		y[i] = g[i] * x[i]
	}
	return y
}

func (g diagonal) Transpose(token int, y []float64) []float64 { return g.Apply(token, y) }
