package main

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// scaled is the stream: a vector stream that multiplies what its sublayers add by gains,
//
//	h <- h + g ⊙ F(h)
//
// It embeds a stream.Vector and replaces two of its stream.Steps: how it writes, and how a run of
// it is decomposed.
type scaled struct {
	*stream.Vector
	b     *graph.Builder
	c     LayerScale
	gains []*gorgonia.Node // g [D], by Site.Index
}

func newScaled(b *graph.Builder, c LayerScale) *scaled {
	s := &scaled{Vector: stream.NewVector(b, stream.VectorConfig{Vectors: c.Vectors}), b: b, c: c}
	for _, at := range s.AllSites() {
		s.gains = append(s.gains, b.Param(graph.ParamSpec{Name: at.Name() + ".gain", Shape: []int{c.D}, Init: graph.Initializer{Offset: c.Start}}))
	}
	s.Use(s)
	return s
}

// Write adds g ⊙ y, y [T, D].
func (s *scaled) Write(h stream.State, at stream.Site, _ stream.Reading, y *gorgonia.Node) stream.State {
	return s.Add(h, at, s.b.Apply(gain{}, y, s.gains[at.Index]))
}

// Form returns the stream's choices in h' = A_res h + B_up F(A_down h), for `models
// -residuals`.
func (s *scaled) Form(at stream.Site) stream.Form {
	f := s.Vector.Form(at)
	f.Source = s.c.Card().Source
	f.Up = stream.Coefficient{Choice: stream.Learned, Diagonal: true, Rows: 1, Columns: 1, Axes: "1 x 1",
		Parameters: []string{s.gains[at.Index].Name()}, Start: stream.Start{Text: fmt.Sprintf("%g", s.c.Start), Values: []float64{s.c.Start}}}
	return f
}
