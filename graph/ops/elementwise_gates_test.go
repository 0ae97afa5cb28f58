package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/graph/optest"
)

// gateCases returns cases of the ops that gates are made of: Sigmoid, GLU, Concat, Slice, LSTMCell.
func gateCases() []optest.Case {
	var cases []optest.Case
	for _, shape := range [][]int{{3, 5}, {1, 1}, {2, 3, 7}} {
		cases = append(cases, optest.Case{Name: fmt.Sprintf("Sigmoid/%v", shape), Floats: [][]int{shape},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.Sigmoid(b, x[0]) },
			Want:  func(x [][]float64, _ [][]int32) []float64 { return wantSigmoid(x[0]) }})
	}
	for _, group := range [][]optest.Case{gluCases(), lstmCases()} {
		cases = append(cases, group...)
	}
	return cases
}

func gluCases() []optest.Case {
	make := func(name string, x, y []int, addends int) optest.Case {
		c := optest.Case{Name: "GLU/" + name, Floats: [][]int{x},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return elementwise.GLU(b, x[0], x[1:]...) },
			Want:  func(v [][]float64, _ [][]int32) []float64 { return wantGLU(v, y[1]) }}
		for range addends {
			c.Floats = append(c.Floats, y)
		}
		return c
	}
	return []optest.Case{
		make("plain", []int{3, 10}, []int{3, 5}, 0), make("one by one", []int{1, 2}, []int{1, 1}, 0),
		make("an addend", []int{3, 4}, []int{3, 2}, 1), make("2 addends", []int{2, 14}, []int{2, 7}, 2),
		{Name: "GLU/one addend twice", Floats: [][]int{{3, 10}, {3, 5}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return elementwise.GLU(b, x[0], x[1], x[1])
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return wantGLU([][]float64{v[0], v[1], v[1]}, 5)
			}},
	}
}

// lstmCases read the two outputs of LSTMCell in all ways that affect its gradients.
func lstmCases() []optest.Case {
	make := func(name string, build func(b *graph.Builder, c, h *gorgonia.Node) *gorgonia.Node, want func(c, h []float64) []float64, shape ...int) optest.Case {
		c := optest.Case{Name: "LSTMCell/" + name,
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				c, h := elementwise.LSTMCell(b, x[0], elementwise.LSTMGates{Input: x[1], Forget: x[2], Output: x[3], Candidate: x[4]})
				return build(b, c, h)
			},
			Want: func(v [][]float64, _ [][]int32) []float64 { return want(wantLSTM(v)) }}
		for range 5 {
			c.Floats = append(c.Floats, shape)
		}
		return c
	}
	return []optest.Case{
		make("both", func(b *graph.Builder, c, h *gorgonia.Node) *gorgonia.Node { return b.Add(c, h) },
			func(c, h []float64) []float64 { return optest.WantAdd([][]float64{c, h}, nil) }, 3, 5),
		make("hidden alone", func(_ *graph.Builder, _, h *gorgonia.Node) *gorgonia.Node { return h },
			func(_, h []float64) []float64 { return h }, 2, 3, 5),
		make("one token", func(_ *graph.Builder, _, h *gorgonia.Node) *gorgonia.Node { return h },
			func(_, h []float64) []float64 { return h }, 1, 1),
		make("both side by side", func(b *graph.Builder, c, h *gorgonia.Node) *gorgonia.Node { return shape.Concat(b, c, h) },
			func(c, h []float64) []float64 { return optest.WantConcat([][]float64{c, h}, 3) }, 3, 2),
		lstmTwoStepCase(),
	}
}

// lstmTwoStepCase takes two steps with one set of gates, so that two nodes read the first cell.
func lstmTwoStepCase() optest.Case {
	return optest.Case{Name: "LSTMCell/two steps", Floats: [][]int{{3, 5}, {3, 5}, {3, 5}, {3, 5}, {3, 5}},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			c, h := elementwise.LSTMCell(b, x[0], elementwise.LSTMGates{Input: x[1], Forget: x[2], Output: x[3], Candidate: x[4]})
			_, h = elementwise.LSTMCell(b, c, elementwise.LSTMGates{Input: h, Forget: x[2], Output: x[3], Candidate: x[4]})
			return h
		},
		Want: func(v [][]float64, _ [][]int32) []float64 {
			c, h := wantLSTM(v)
			_, h = wantLSTM([][]float64{c, h, v[2], v[3], v[4]})
			return h
		}}
}

func wantSigmoid(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = 1 / (1 + math.Exp(-v))
	}
	return y
}

// wantGLU takes x [tokens, 2*width] and addends.
func wantGLU(in [][]float64, width int) []float64 {
	s := wantSigmoid(in[0])
	y := make([]float64, len(in[0])/2)
	for i := range y {
		gate := i/width*2*width + i%width
		y[i] = s[gate] * in[0][gate+width]
		for _, a := range in[1:] {
			y[i] += a[i]
		}
	}
	return y
}

// wantLSTM takes c, i, f, o and g.
func wantLSTM(in [][]float64) (cell, hidden []float64) {
	i, f, o := wantSigmoid(in[1]), wantSigmoid(in[2]), wantSigmoid(in[3])
	for j, c := range in[0] {
		cell = append(cell, f[j]*c+i[j]*in[4][j])
		hidden = append(hidden, o[j]*cell[j])
	}
	return cell, hidden
}

// TestGateShapes checks that the gates' ops refuse wrong shapes.
func TestGateShapes(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	f := func(shape ...int) *gorgonia.Node {
		return b.Input(fmt.Sprintf("f%d", len(b.Graph().AllNodes())), tensor.Float32, shape...)
	}
	for _, c := range []struct {
		build func() *gorgonia.Node
		want  string
	}{
		{func() *gorgonia.Node { return elementwise.GLU(b, f(3, 5)) }, "GLU: x: want shape [tokens, 2*D], a gate and a value side by side, got (3, 5)"},
		{func() *gorgonia.Node { return elementwise.GLU(b, f(2, 3, 4)) }, "x: want shape [tokens, 2*D]"},
		{func() *gorgonia.Node { return elementwise.GLU(b, f(3, 4), f(3, 2), f(3, 4)) }, "addend 1: want shape (3, 2) for x (3, 4), got (3, 4)"},
		{func() *gorgonia.Node { return shape.Concat(b) }, "Concat: want at least one input, got none"},
		{func() *gorgonia.Node { return shape.Concat(b, f(3, 4), f(2, 4)) }, "input 1: want [3, ...], as many tokens as input 0, got (2, 4)"},
		{func() *gorgonia.Node { return shape.Concat(b, f(3)) }, "input 0: want [3, ...]"},
		{func() *gorgonia.Node { return shape.Slice(b, f(3, 4), 2, 2) }, "Slice: want features within [0, 4) of x (3, 4), got [2, 2)"},
		{func() *gorgonia.Node { return shape.Slice(b, f(3, 4), -1, 2) }, "got [-1, 2)"},
		{func() *gorgonia.Node { return shape.Slice(b, f(3, 4), 0, 5) }, "got [0, 5)"},
		{func() *gorgonia.Node { return shape.Slice(b, f(3), 0, 1) }, "x: want shape [tokens, ...], got (3)"},
		{func() *gorgonia.Node {
			_, h := elementwise.LSTMCell(b, f(3, 4), elementwise.LSTMGates{Input: f(3, 4), Forget: f(3, 5), Output: f(3, 4), Candidate: f(3, 4)})
			return h
		}, "LSTMCell: forget gate: want shape (3, 4) as state, got (3, 5)"},
	} {
		b = graph.On(gorgonia.NewGraph(), graph.Options{})
		require.Nil(t, c.build(), c.want)
		optest.RequireLine(t, b.Err(), c.want)
	}
}

// TestLSTMGradientsWanted trains every subset of a cell's inputs: the others are inputs of the
// graph, whose gradients must not be made.
func TestLSTMGradientsWanted(t *testing.T) {
	want := lstmGradients(t, 31, 0)
	for choice := 1; choice < 31; choice++ {
		got := lstmGradients(t, choice, 0)
		for i := range 5 {
			if choice>>i&1 == 1 {
				require.Equal(t, want[i], got[i], "choice %05b, input %d", choice, i)
			}
		}
	}
	for i, grad := range lstmGradients(t, 31, 2) {
		require.InDeltaSlice(t, optest.WantScale(want[i], 3), grad, 1e-12, "input %d over three micro-batches", i)
	}
}

// lstmGradients returns the gradients of the chosen inputs of a cell, summed over one run
// and more that accumulate.
func lstmGradients(t *testing.T, choice, more int) map[int][]float64 {
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, DType: tensor.Float64}, Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
		var x gorgonia.Nodes
		for i := range 5 {
			if name := fmt.Sprintf("x%d", i); choice>>i&1 == 1 {
				x = append(x, b.Param(graph.ParamSpec{Name: name, Shape: []int{3, 4}}))
			} else {
				x = append(x, b.Input(name, tensor.Float64, 3, 4))
			}
		}
		c, h := elementwise.LSTMCell(b, x[0], elementwise.LSTMGates{Input: x[1], Forget: x[2], Output: x[3], Candidate: x[4]})
		return graph.Roots{Loss: loss.CrossEntropy(b, shape.Concat(b, c, h), b.Input("w", tensor.Float64, 8, 5), b.Input("targets", tensor.Int32, 3), loss.Options{})}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	wave := func(phase float64, n int) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = math.Sin(phase + 1.7*float64(j))
		}
		return v
	}
	require.NoError(t, graph.SetFloat64s(p.Input("w"), wave(9, 40)))
	for i := range 5 {
		value := p.Input(fmt.Sprintf("x%d", i))
		if param := p.Store().Param(fmt.Sprintf("x%d", i)); param != nil {
			value = param.Value
		}
		require.NoError(t, graph.SetFloat64s(value, wave(float64(i), 12)))
	}
	for run := range 1 + more {
		require.NoError(t, p.Run(graph.RunOptions{Accumulate: run > 0}))
	}
	grads := map[int][]float64{}
	for i := range 5 {
		if param := p.Store().Param(fmt.Sprintf("x%d", i)); param != nil {
			grads[i] = graph.Float64s(param.Grad)
		}
	}
	return grads
}
