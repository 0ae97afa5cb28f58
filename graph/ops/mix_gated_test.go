package ops_test

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/optest"
)

// gatedCases are the ops of gated residuals; the case "step" is a whole sublayer's read and write,
// where gradients meet.
func gatedCases() []optest.Case {
	var cases []optest.Case
	for _, s := range []gatedShape{{3, 4, 5, 2}, {2, 1, 3, 1}, {1, 3, 1, 4}, {19, 2, 4, 3}, {2, 9, 3, 2}, {1, 4, 132, 3}} {
		cases = append(cases, s.cases()...)
	}
	for _, s := range []gatedShape{{3, 4, 5, 2}, {1, 4, 132, 3}} {
		cases = append(cases, s.step())
	}
	return cases
}

// gatedShape is the shape of a stream [tokens, n, d] and the size of its hidden layer.
type gatedShape struct{ tokens, n, d, rank int }

func (s gatedShape) cases() []optest.Case {
	h, y, x, name := []int{s.tokens, s.n, s.d}, []int{s.tokens, s.d}, []int{s.tokens, s.rank + s.n}, fmt.Sprintf("%+v", s)
	return []optest.Case{
		{Name: "GatedRead/" + name, Floats: [][]int{h, x, {s.rank, s.n * s.d}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return mix.GatedRead(b, x[0], x[1], x[2]) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return s.wantRead(x[0], x[1], x[2]) }},
		{Name: "GatedWrite/" + name, Floats: [][]int{h, y, x},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return mix.GatedWrite(b, x[0], x[1], x[2]) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return s.wantWrite(x[0], x[1], x[2]) }},
	}
}

// step is a read, and a write of the result.
func (s gatedShape) step() optest.Case {
	size, width := s.n*s.d, s.rank+s.n
	return optest.Case{Name: fmt.Sprintf("Gated/step %+v", s), Floats: [][]int{{s.tokens, s.n, s.d}, {s.tokens, s.d}, {size, width}, {s.rank, size}},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			projected := linear.Map(b, x[0], x[2], linear.Options{AddGradient: true})
			return mix.GatedWrite(b, x[0], b.Add(mix.GatedRead(b, x[0], projected, x[3]), x[1]), projected)
		},
		Want: func(x [][]float64, _ [][]int32) []float64 {
			projected := optest.WantLinear([][]float64{x[0], x[2]}, size, width, linear.Options{})
			u := s.wantRead(x[0], projected, x[3])
			return s.wantWrite(x[0], optest.WantAdd([][]float64{u, x[1]}, nil), projected)
		}}
}

func sigmoidOf(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func (s gatedShape) wantRead(z, x, w []float64) []float64 {
	a, u := optest.WantLinear([][]float64{s.wantHidden(x), w}, s.rank, s.n*s.d, linear.Options{}), make([]float64, s.tokens*s.d)
	for e, v := range z {
		u[e/(s.n*s.d)*s.d+e%s.d] += v * sigmoidOf(a[e]) / float64(s.n)
	}
	return u
}

func (s gatedShape) wantHidden(x []float64) (h []float64) {
	for t := range s.tokens {
		for j := range s.rank {
			v := x[t*(s.rank+s.n)+j] / float64(s.n)
			h = append(h, v*sigmoidOf(v))
		}
	}
	return h
}

func (s gatedShape) wantWrite(r, y, x []float64) (out []float64) {
	for e, v := range r {
		t, i := e/(s.n*s.d), e/s.d%s.n
		out = append(out, v+2*sigmoidOf(x[t*(s.rank+s.n)+s.rank+i]/float64(s.n))*y[t*s.d+e%s.d])
	}
	return out
}

// TestGatedShapes checks that the ops refuse wrong shapes.
func TestGatedShapes(t *testing.T) {
	for want, build := range map[string]func(b *graph.Builder, f func(shape ...int) *gorgonia.Node) *gorgonia.Node{
		"stream: want shape [tokens, n, d], got (3, 8)": func(b *graph.Builder, f func(shape ...int) *gorgonia.Node) *gorgonia.Node {
			return mix.GatedRead(b, f(3, 8), f(3, 5), f(3, 8))
		},
		"w: want shape [rank, 8], a gate for each entry of a stream (3, 2, 4), got (3, 4)": func(b *graph.Builder, f func(shape ...int) *gorgonia.Node) *gorgonia.Node {
			return mix.GatedRead(b, f(3, 2, 4), f(3, 5), f(3, 4))
		},
		"x: want shape [3, k] with k at least the rank 5, got (3, 4)": func(b *graph.Builder, f func(shape ...int) *gorgonia.Node) *gorgonia.Node {
			return mix.GatedRead(b, f(3, 2, 4), f(3, 4), f(5, 8))
		},
		"y: want 3 tokens of 4 entries for a stream (3, 2, 4), got (3, 8)": func(b *graph.Builder, f func(shape ...int) *gorgonia.Node) *gorgonia.Node {
			return mix.GatedWrite(b, f(3, 2, 4), f(3, 8), f(3, 2))
		},
		"x: want shape [3, k] with k at least 2 for a stream (3, 2, 4), got (3, 1)": func(b *graph.Builder, f func(shape ...int) *gorgonia.Node) *gorgonia.Node {
			return mix.GatedWrite(b, f(3, 2, 4), f(3, 4), f(3, 1))
		},
	} {
		b, names := graph.On(gorgonia.NewGraph(), graph.Options{}), 0
		build(b, func(shape ...int) *gorgonia.Node {
			names++
			return b.Input(fmt.Sprintf("f%d", names), tensor.Float32, shape...)
		})
		optest.RequireLine(t, b.Err(), want)
	}
}
