package ops_test

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/graph/optest"
)

// streamCases returns the cases of Read and Write.
func streamCases() []optest.Case {
	read := func(x, keys []int) optest.Case {
		return optest.Case{Name: fmt.Sprintf("Read/%v %v", x, keys), Floats: [][]int{x, keys},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return readwrite.Read(b, x[0], x[1]) },
			Want:  func(v [][]float64, _ [][]int32) []float64 { return wantStreamRead(v[0], v[1], x[1], x[2]) }}
	}
	write := func(x, keys, y []int) optest.Case {
		c := optest.Case{Name: fmt.Sprintf("Write/%v %v %v", x, keys, y), MayBeNil: []int{2}, Floats: [][]int{keys, y},
			Build: func(b *graph.Builder, n, _ gorgonia.Nodes) *gorgonia.Node {
				if x == nil {
					return readwrite.Write(b, nil, n[0], n[1])
				}
				return readwrite.Write(b, n[2], n[0], n[1])
			},
			Want: func(v [][]float64, _ [][]int32) []float64 { return wantStreamWrite(v, keys[len(keys)-1], y[0]) }}
		if x != nil {
			c.Floats = append(c.Floats, x)
		}
		return c
	}
	return []optest.Case{
		read([]int{3, 5, 7}, []int{2, 5}),
		read([]int{2, 7, 3}, []int{3, 2, 7}),
		read([]int{1, 1, 1}, []int{1, 1}),
		write(nil, []int{2, 5}, []int{3, 14}),
		write(nil, []int{1, 1}, []int{1, 1}),
		write([]int{3, 5, 7}, []int{2, 5}, []int{3, 2, 7}),
		write([]int{2, 5, 3}, []int{3, 2, 5}, []int{2, 3, 2, 3}),
		write([]int{1, 2, 1}, []int{1, 2}, []int{1, 1}),
	}
}

func normReadCases() []optest.Case {
	var cases []optest.Case
	for _, o := range []norm.Options{{}, {RMS: true}} {
		for _, bias := range []bool{false, true} {
			for _, shapes := range [][2][]int{{{3, 5, 7}, {2, 5}}, {{2, 3, 5}, {3, 2, 3}}, {{1, 3, 1}, {1, 3}}} {
				x, keys := shapes[0], shapes[1]
				c := optest.Case{Name: fmt.Sprintf("NormRead/%v bias=%t %v %v", o.Params(), bias, x, keys), MayBeNil: []int{3}, Floats: [][]int{x, x[1:], keys},
					Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
						o := o
						if bias {
							o.Bias = x[3]
						}
						return readwrite.NormRead(b, x[0], x[1], x[2], o)
					},
					Want: func(v [][]float64, _ [][]int32) []float64 {
						return wantStreamRead(optest.WantNorm(append([][]float64{v[0], v[1]}, v[3:]...), o), v[2], x[1], x[2])
					}}
				if bias {
					c.Floats = append(c.Floats, x[1:])
				}
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// wantStreamRead computes y_t = keys X_t with keys [m, dk] and X_t [dk, dv].
func wantStreamRead(x, keys []float64, dk, dv int) []float64 {
	var y []float64
	for t := 0; t < len(x); t += dk * dv {
		for key := 0; key < len(keys); key += dk {
			for j := range dv {
				sum := 0.0
				for i := range dk {
					sum += keys[key+i] * x[t+i*dv+j]
				}
				y = append(y, sum)
			}
		}
	}
	return y
}

// wantStreamWrite takes keys [m, dk], y [tokens, m, dv] and optionally the stream.
func wantStreamWrite(in [][]float64, dk, tokens int) []float64 {
	keys, y := in[0], in[1]
	m := len(keys) / dk
	dv := len(y) / tokens / m
	x := make([]float64, tokens*dk*dv)
	if len(in) > 2 {
		copy(x, in[2])
	}
	for t := range tokens {
		for key := range m {
			for i := range dk {
				for j := range dv {
					x[(t*dk+i)*dv+j] += keys[key*dk+i] * y[(t*m+key)*dv+j]
				}
			}
		}
	}
	return x
}
