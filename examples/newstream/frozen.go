package main

import "github.com/residua-go/residua/stream"

// Carry tells package analysis how writes reach the end of the stream: as in a vector stream, but
// multiplied by the gains.
func (s *scaled) Carry(f *stream.Frozen) {
	s.Vector.Carry(f)
	for _, at := range s.AllSites() {
		f.Precompose(at.Name(), diagonal(s.Values(s.gains[at.Index])))
	}
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
