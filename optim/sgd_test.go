package optim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
)

// TestSGD: each weight moves by the rate times its gradient, and by its decay, in both element
// types; no memory is allocated for moments.
func TestSGD(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		s := newStore(t, dt)
		o := newOptimizer(t, s, 2, optim.SGD(), optim.Rate(0.5, optim.Constant{}), optim.Decay(0.1, optim.Coupled, nil))
		setGradients(t, s, 0)
		before := values(s)
		stats, err := o.Step(0.25)
		require.NoError(t, err)
		require.True(t, stats.Finite)
		for i, p := range s.Params() {
			decay := 0.0
			if p.Decay {
				decay = 0.1
			}
			gradient := graph.Float64s(p.Grad)
			for j, w := range graph.Float64s(p.Value) {
				old := before[i][j]
				assert.InDelta(t, old-0.5*(0.25*gradient[j]+decay*old), w, 1e-6, p.Name)
			}
			assert.Nil(t, p.Moment1)
		}
	}
	_, err := optim.New(newStore(t, tensor.Float32), 1, optim.MuP(), optim.SGD())
	assert.EqualError(t, err, "optim: sgd: want no muP with it, whose rates are Adam's: use one of the two")
}
