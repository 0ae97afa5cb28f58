package graph

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"
)

// gradientTolerance bounds |gradient - difference quotient| relative to the larger of 1
// and the quotient: float64 leaves about 1e-9 at this step.
const (
	gradientStep      = 1e-4
	gradientTolerance = 1e-8
)

// TestGradients compares the gradients of every differentiable input of every op with
// difference quotients in float64: through gorgonia.Grad on a stock tape machine, and
// through Program's own differentiation.
func TestGradients(t *testing.T) {
	for _, c := range opCases() {
		if c.noGradient {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			store := NewStore(tensor.Float64, 3)
			for _, m := range []*machine{newStock(t, c, store), newProgram(t, c, store, ProgramOptions{})} {
				t.Run(m.name, func(t *testing.T) { checkGradients(t, c, m) })
			}
		})
	}
}

func checkGradients(t *testing.T, c opCase, m *machine) {
	m.feed(c, 1)
	require.NoError(t, m.run())
	var grads [][]float64
	for i := range c.floats {
		grads = append(grads, append([]float64(nil), m.grad(i)...))
	}
	for i, got := range grads {
		checkQuotients(t, m, m.store.Params()[i].Value.Float64s(), got, gradientTolerance, fmt.Sprintf("input %d", i))
		require.Greater(t, largest(got), 1e-3, "input %d: the loss does not depend on it: the check would be empty", i)
	}
}

// checkQuotients compares the gradient of the loss with respect to x with difference
// quotients: of every entry, with -short of a few.
func checkQuotients(t *testing.T, m *machine, x, got []float64, tolerance float64, what string) {
	require.Len(t, got, len(x), what)
	for _, i := range sample(len(x)) {
		want := quotient(t, m, x, i)
		require.InDelta(t, want, got[i], tolerance*max(1, math.Abs(want)), "%s, entry %d", what, i)
	}
}

// sample is all of n entries, with -short a few of them, from the first to the last.
func sample(n int) []int {
	const few = 4
	var entries []int
	for i := range n {
		if !testing.Short() || n <= few || i*(few-1)/(n-1) > (i-1)*(few-1)/(n-1) || i == 0 {
			entries = append(entries, i)
		}
	}
	return entries
}

func largest(x []float64) float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}

// quotient is the fourth-order difference quotient of the loss with respect to x[i].
func quotient(t *testing.T, m *machine, x []float64, i int) float64 {
	old := x[i]
	at := func(steps float64) float64 {
		x[i] = old + steps*gradientStep
		require.NoError(t, m.run())
		x[i] = old
		return m.loss()
	}
	return (8*(at(1)-at(-1)) - (at(2) - at(-2))) / (12 * gradientStep)
}

// TestForward compares every op's result with its equation in plain loops.
func TestForward(t *testing.T) {
	for _, c := range opCases() {
		if c.want == nil {
			continue
		}
		for _, precision := range []struct {
			dt        tensor.Dtype
			tolerance float64
		}{{tensor.Float64, 1e-12}, {tensor.Float32, 2e-5}} {
			t.Run(fmt.Sprintf("%s/%v", c.name, precision.dt), func(t *testing.T) {
				m := newProgram(t, c, NewStore(precision.dt, 3), ProgramOptions{})
				for run := range 3 {
					m.feed(c, run)
					require.NoError(t, m.run())
					want := c.want(m.floatsSeen(c), m.idsSeen(c))
					got := m.output()
					require.Len(t, got, len(want))
					for i := range want {
						require.InDelta(t, want[i], got[i], precision.tolerance*max(1, math.Abs(want[i])), "run %d, entry %d", run, i)
					}
				}
			})
		}
	}
}
