package main

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// Hold says how what is written reaches the stream's end: as in a vector stream, once it has been
// multiplied by the gains. Package analysis takes models apart by it.
func (s *scaled) Hold(r stream.Record) (*stream.Held, error) {
	h, err := s.Vector.Hold(r)
	for _, at := range s.sites() {
		if err != nil {
			return nil, err
		}
		err = h.Through(at.Name(), diagonal(graph.Float64s(s.b.Store().Param(s.gains[at.Index].Name()).Value)))
	}
	return h, err
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
