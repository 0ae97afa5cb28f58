package kernel

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/kernel/internal/formula"
)

// formulaFunctions are the formulas of ops as functions of Go.
var formulaFunctions = map[string]any{
	"LSTMCell": formula.LSTMCell, "LSTMCellGradient": formula.LSTMCellGradient, "LSTMCellHiddenGradient": formula.LSTMCellHiddenGradient,
	"Multiply": formula.Multiply, "MultiplyGradient": formula.MultiplyGradient,
	"Sigmoid": formula.Sigmoid, "SigmoidGradient": formula.SigmoidGradient,
	"SoftCap": formula.SoftCap, "SoftCapGradient": formula.SoftCapGradient,
	"SwiGLU": formula.SwiGLU, "SwiGLUGradient": formula.SwiGLUGradient,
}

// formulaNumber is the number of the formulas that have one.
const formulaNumber = 1.3

// TestFormulas compares what the generator makes of each formula with the formula.
func TestFormulas(t *testing.T) {
	for _, f := range Formulas() {
		t.Run(f.Name, func(t *testing.T) {
			require.Contains(t, formulaFunctions, f.Name)
			forEachPath[float32](t, func(t *testing.T, p path) { testFormula(t, f, f.Single, p, 4e-7) })
			testFormula(t, f, f.Double, portable, 1e-14)
		})
	}
}

// formulaInputs returns small and large numbers for the inputs of a formula.
func formulaInputs[T Float](f *Formula) [][]T {
	in := make([][]T, len(f.Inputs))
	for i := range in {
		in[i] = slices.Concat(normals[T](uint64(3*i+1), 2000, 2), normals[T](uint64(3*i+2), 500, 1e-3), normals[T](uint64(3*i+3), 531, 30))
	}
	return in
}

// naiveFormula calls the function for every entry.
func naiveFormula[T Float](f *Formula, in [][]T) [][]float64 {
	out, function := make([][]float64, len(f.Results)), reflect.ValueOf(formulaFunctions[f.Name])
	for j := range in[0] {
		var arguments []reflect.Value
		for _, x := range in {
			arguments = append(arguments, reflect.ValueOf(float64(x[j])))
		}
		for range f.Numbers {
			arguments = append(arguments, reflect.ValueOf(formulaNumber))
		}
		for i, result := range function.Call(arguments) {
			out[i] = append(out[i], result.Float())
		}
	}
	return out
}

func testFormula[T Float](t *testing.T, f *Formula, function ElementFunc[T], on path, tolerance float64) {
	in := formulaInputs[T](f)
	want, n := naiveFormula(f, in), len(in[0])
	k := Elementwise[T]{path: on}
	run := func(p *Pool, out, in [][]T) { k.Run(p, function, out, in, formulaNumber) }
	results := func() [][]T {
		out := make([][]T, len(f.Results))
		for i := range out {
			out[i] = make([]T, n)
		}
		return out
	}
	got := results()
	run(nil, got, in)
	last := len(in) - 1
	for i := range want {
		for j, w := range want[i] {
			scale := max(1, math.Abs(w))
			if f.Inputs[last].Addend { // the other summand is rounded first
				scale = max(scale, math.Abs(float64(in[last][j])))
			}
			require.InDelta(t, w, float64(got[i][j]), tolerance*scale, "%s, element %d", f.Results[i].Name, j)
		}
	}
	for threads := 1; threads <= 3; threads++ {
		p, out := NewPool(threads), results()
		requireNoAllocations(t, func() { run(p, out, in) })
		require.Equal(t, got, out, "%d threads", threads)
		p.Close()
	}
	for i, x := range in {
		out, same := results(), slices.Clone(in)
		same[i] = slices.Clone(x)
		out[0] = same[i]
		run(nil, out, same)
		require.Equal(t, got, out, "%s replaces %s", f.Results[0].Name, f.Inputs[i].Name)
		same[i] = slices.Clone(x)
		run(nil, same[i:i+1], same)
		require.Equal(t, got[0], same[i], "%s alone replaces %s", f.Results[0].Name, f.Inputs[i].Name)
	}
	for choice := range 1 << (len(got) - 1) {
		out, wanted := results(), slices.Clone(got)
		for i := range out[1:] {
			if choice>>i&1 == 0 {
				out[1+i], wanted[1+i] = nil, nil
			}
		}
		run(nil, out, in)
		require.Equal(t, wanted, out, "results %b", choice)
	}
	if f.Inputs[last].Addend {
		out, zero := results(), slices.Clone(in)
		zero[last] = make([]T, n)
		run(nil, got, zero)
		run(nil, out, in[:last])
		require.Equal(t, got, out, "no addend")
	}
}

// TestElementsOfFormulas: an Elementwise has room for every formula's arrays and numbers.
func TestElementsOfFormulas(t *testing.T) {
	var x Elements[float32]
	for _, f := range Formulas() {
		room := fmt.Sprint(len(f.Results) <= len(x.Out), len(f.Inputs) <= len(x.In), f.Numbers <= len(x.Numbers))
		require.Equal(t, "true true true", room, f.Name)
	}
}
