package optest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// stockNodes runs the op between stock Add, Reshape, HadamardProd and Sum nodes and checks that a
// Program with shared buffers, one with separate buffers and a stock tape machine with
// gorgonia.Grad give the same bits, run after run with new inputs. (Stock binary ops write their
// results into our buffers.)
func (c Case) stockNodes(t *testing.T) {
	for _, dt := range stockTypes() {
		c.addFirst = dt == tensor.Float32
		t.Run(dt.String(), func(t *testing.T) {
			newOne := []func() *Machine{
				func() *Machine { return NewProgram(t, c, graph.NewStore(dt, 3), graph.ProgramOptions{}) },
				func() *Machine { return NewProgram(t, c, graph.NewStore(dt, 3), graph.ProgramOptions{Separate: true}) },
				func() *Machine { return newStock(t, c, graph.NewStore(dt, 3)) },
			}
			var want []float64
			for i, make := range newOne {
				m := make()
				got := m.results(t, c)
				if i == 0 {
					want = got
				}
				require.Equal(t, want, got, m.name)
			}
		})
	}
}

// stockTypes returns the element types in which every case runs; with -short, only the type used in
// training.
func stockTypes() []tensor.Dtype {
	if testing.Short() {
		return []tensor.Dtype{tensor.Float32}
	}
	return []tensor.Dtype{tensor.Float32, tensor.Float64}
}

// results runs a machine a few times and returns all its results.
func (m *Machine) results(t *testing.T, c Case) []float64 {
	var all []float64
	for run := range 3 {
		m.Feed(c, run)
		require.NoError(t, m.Run())
		all = append(all, m.output()...)
		if c.NoGradient {
			continue
		}
		all = append(all, m.Loss())
		for i := range c.Floats {
			all = append(all, m.grad(i)...)
		}
	}
	return all
}
