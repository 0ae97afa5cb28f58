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
// It embeds a stream.Vector and replaces how that writes, and how a run of it is taken apart.
type scaled struct {
	*stream.Vector
	b     *graph.Builder
	c     LayerScale
	gains []*gorgonia.Node // g [D], by Site.Index
}

func newScaled(b *graph.Builder, c LayerScale) *scaled {
	s := &scaled{Vector: stream.NewVector(b, c.vector()), b: b, c: c}
	for _, at := range s.sites() {
		s.gains = append(s.gains, b.Param(graph.ParamSpec{Name: at.Name() + ".gain", Shape: []int{c.D}, Init: graph.Initializer{Offset: c.Start}}))
	}
	return s
}

// sites are those of all blocks.
func (s *scaled) sites() (all []stream.Site) {
	for l := range s.c.Layers {
		all = append(all, s.Sites(l)...)
	}
	return all
}

// WriteHeads adds g ⊙ W_O o.
func (s *scaled) WriteHeads(h stream.State, at stream.Site, _ stream.Link, o *gorgonia.Node) stream.State {
	return s.write(h, at, s.HeadsOutput(at, o))
}

// WriteFeatures adds g ⊙ y.
func (s *scaled) WriteFeatures(h stream.State, at stream.Site, _ stream.Link, y *gorgonia.Node) stream.State {
	return s.write(h, at, y)
}

// write adds g ⊙ y, y [T, D].
func (s *scaled) write(h stream.State, at stream.Site, y *gorgonia.Node) stream.State {
	return s.Add(h, at, s.b.Apply(gain{}, y, s.gains[at.Index]))
}

// Form tells models -residuals what the stream chooses of h' = A_res h + B_up F(A_down h).
func (s *scaled) Form(at stream.Site) stream.Form {
	f := s.Vector.Form(at)
	f.Source = s.c.Card().Source
	f.Up = stream.Coefficient{Choice: stream.Learned, Diagonal: true, Rows: 1, Columns: 1, Axes: "1 x 1",
		Parameters: []string{s.gains[at.Index].Name()}, Start: stream.Start{Text: fmt.Sprintf("%g", s.c.Start), Values: []float64{s.c.Start}}}
	return f
}
