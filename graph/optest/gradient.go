package optest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
)

// gradientTolerance bounds |gradient - difference quotient| relative to the larger of 1
// and the quotient: float64 leaves about 1e-9 at this step.
const (
	GradientStep      = 1e-4
	GradientTolerance = 1e-8
)

// gradients compares the gradients of every differentiable input with difference quotients
// in float64: through gorgonia.Grad on a stock tape machine, and through Program's own
// differentiation.
func (c Case) gradients(t *testing.T) {
	if c.NoGradient {
		return
	}
	store := graph.NewStore(tensor.Float64, 3)
	for _, m := range []*Machine{newStock(t, c, store), NewProgram(t, c, store, graph.ProgramOptions{})} {
		t.Run(m.name, func(t *testing.T) { CheckGradients(t, c, m) })
	}
}

// CheckGradients compares the gradients of every differentiable input with difference
// quotients on one machine.
func CheckGradients(t *testing.T, c Case, m *Machine) {
	m.Feed(c, 1)
	require.NoError(t, m.Run())
	var grads [][]float64
	for i := range c.Floats {
		grads = append(grads, append([]float64(nil), m.grad(i)...))
	}
	for i, got := range grads {
		CheckQuotients(t, m, m.store.Params()[i].Value.Float64s(), got, GradientTolerance, fmt.Sprintf("input %d", i))
		require.Greater(t, floats.Norm(got, math.Inf(1)), 1e-3, "input %d: the loss does not depend on it: the check would be empty", i)
	}
}

// CheckQuotients compares the gradient of the loss with respect to x with difference quotients: for
// some entries, for fewer with -short, and for every entry in the long tests.
func CheckQuotients(t *testing.T, m *Machine, x, got []float64, tolerance float64, what string) {
	require.Len(t, got, len(x), what)
	for _, i := range sample(len(x)) {
		want := Quotient(t, m, x, i)
		require.InDelta(t, want, got[i], tolerance*max(1, math.Abs(want)), "%s, entry %d", what, i)
	}
}

// sample returns some of the numbers below n, the first and the last included.
func sample(n int) []int {
	few := 12
	switch {
	case testing.Short():
		few = 4
	case longtest.Exhaustive():
		few = n
	case longtest.Enabled():
		few = 48
	}
	var entries []int
	for i := range n {
		if n <= few || i == 0 || i*(few-1)/(n-1) > (i-1)*(few-1)/(n-1) {
			entries = append(entries, i)
		}
	}
	return entries
}

// Quotient returns the fourth-order difference quotient of the loss with respect to x[i].
func Quotient(t *testing.T, m *Machine, x []float64, i int) float64 {
	old := x[i]
	at := func(steps float64) float64 {
		x[i] = old + steps*GradientStep
		require.NoError(t, m.Run())
		x[i] = old
		return m.Loss()
	}
	return (8*(at(1)-at(-1)) - (at(2) - at(-2))) / (12 * GradientStep)
}

// forward compares the result with the equation computed by plain loops.
func (c Case) forward(t *testing.T) {
	if c.Want == nil {
		return
	}
	for _, precision := range []struct {
		dt        tensor.Dtype
		tolerance float64
	}{{tensor.Float64, 1e-12}, {tensor.Float32, 2e-5}} {
		t.Run(precision.dt.String(), func(t *testing.T) {
			m := NewProgram(t, c, graph.NewStore(precision.dt, 3), graph.ProgramOptions{})
			for run := range 3 {
				m.Feed(c, run)
				require.NoError(t, m.Run())
				want := c.Want(m.FloatsSeen(c), m.idsSeen(c))
				got := m.output()
				require.Len(t, got, len(want))
				for i := range want {
					require.InDelta(t, want[i], got[i], precision.tolerance*max(1, math.Abs(want[i])), "run %d, entry %d", run, i)
				}
			}
		})
	}
}
