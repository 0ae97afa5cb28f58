package main

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// Package analysis takes models apart by what Hold and Static say: how what is written reaches the
// stream's end. It is as in a vector stream, once it has been multiplied by the gains.

// Hold is the stream of a run.
func (s *scaled) Hold(r stream.Record) (*stream.Held, error) {
	h, err := s.Vector.Hold(r)
	if err != nil {
		return nil, err
	}
	return h, s.throughGains(h)
}

// Static is the stream without a run, for analyses of weights (stream.Weighted).
func (s *scaled) Static() *stream.Held {
	h := s.Vector.Static()
	if s.throughGains(h) != nil {
		return nil
	}
	return h
}

func (s *scaled) throughGains(h *stream.Held) error {
	for _, at := range s.sites() {
		if err := h.Through(at.Name(), s.gain(at)); err != nil {
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
