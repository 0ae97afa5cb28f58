package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
)

// naive implements the optimizer's equations literally, in float64, one number at a time.
type naive struct {
	beta1, beta2, eps, rate, decay, clip, gradScale float64
	coupled, mup                                    bool
	schedule                                        optim.Schedule
	decays                                          func(p *graph.Param) bool
	steps                                           int
	w, m, v                                         [][]float64
}

// defaults returns an optimizer without parts.
func defaults() naive {
	return naive{beta1: 0.9, beta2: 0.999, eps: 1e-8, rate: 1e-3, gradScale: 1, schedule: optim.Constant{}, decays: func(*graph.Param) bool { return false }}
}

func (n *naive) start(s *graph.Store) {
	for _, p := range s.Params() {
		n.w = append(n.w, graph.Float64s(p.Value))
		n.m, n.v = append(n.m, make([]float64, p.Size())), append(n.v, make([]float64, p.Size()))
	}
}

// step updates the weights from the Store's gradients and returns the gradients' norm.
func (n *naive) step(s *graph.Store) float64 {
	squares := 0.0
	for _, p := range s.Params() {
		for _, g := range graph.Float64s(p.Grad) {
			squares += n.gradScale * g * n.gradScale * g
		}
	}
	norm := math.Sqrt(squares)
	shrink := 1.0
	if n.clip > 0 && norm > n.clip {
		shrink = n.clip / norm
	}
	factor := n.schedule.Factor(n.steps)
	n.steps++
	for i, p := range s.Params() {
		rate, decay := n.rate, 0.0
		if n.mup && p.WidthRatio != 0 {
			rate /= p.WidthRatio
		}
		if n.decays(p) {
			decay = n.decay
			if n.coupled {
				decay *= rate
			}
		}
		for j, g := range graph.Float64s(p.Grad) {
			g *= n.gradScale * shrink
			n.m[i][j] = n.beta1*n.m[i][j] + (1-n.beta1)*g
			n.v[i][j] = n.beta2*n.v[i][j] + (1-n.beta2)*g*g
			mhat := n.m[i][j] / (1 - math.Pow(n.beta1, float64(n.steps)))
			vhat := n.v[i][j] / (1 - math.Pow(n.beta2, float64(n.steps)))
			n.w[i][j] -= factor * (rate*mhat/(math.Sqrt(vhat)+n.eps) + decay*n.w[i][j])
		}
	}
	return norm
}

// combination is a set of parts with the naive optimizer that they should equal.
type combination struct {
	name  string
	parts []optim.Part
	set   func(n *naive)
}

func asked(p *graph.Param) bool { return p.Decay }

func combinations() []combination {
	cosine := optim.WarmupCosine{Warmup: 2, Total: 9, Min: 0.1}
	onlyGains := func(p *graph.Param) bool { return p.Name == "gain" }
	return []combination{
		{"nothing", nil, func(*naive) {}},
		{"adam", []optim.Part{optim.Adam(0.8, 0.95, 1e-3)}, func(n *naive) { n.beta1, n.beta2, n.eps = 0.8, 0.95, 1e-3 }},
		{"no momentum", []optim.Part{optim.Adam(0, 0, 1e-8)}, func(n *naive) { n.beta1, n.beta2 = 0, 0 }},
		{"clip", []optim.Part{optim.Clip(3)}, func(n *naive) { n.clip = 3 }},
		{"clip that never acts", []optim.Part{optim.Clip(1e6)}, func(*naive) {}},
		{"clip 0", []optim.Part{optim.Clip(0)}, func(*naive) {}},
		{"rate", []optim.Part{optim.Rate(0.02, cosine)}, func(n *naive) { n.rate, n.schedule = 0.02, cosine }},
		{"coupled", []optim.Part{optim.Decay(0.3, optim.Coupled, nil), optim.Rate(0.02, cosine)},
			func(n *naive) { n.decay, n.coupled, n.decays, n.rate, n.schedule = 0.3, true, asked, 0.02, cosine }},
		{"independent", []optim.Part{optim.Rate(0.02, cosine), optim.Decay(0.3, optim.Independent, nil)},
			func(n *naive) { n.decay, n.decays, n.rate, n.schedule = 0.3, asked, 0.02, cosine }},
		{"mask", []optim.Part{optim.Decay(0.3, optim.Independent, onlyGains)}, func(n *naive) { n.decay, n.decays = 0.3, onlyGains }},
		{"mup", []optim.Part{optim.Rate(0.02, cosine), optim.MuP()}, func(n *naive) { n.rate, n.schedule, n.mup = 0.02, cosine, true }},
		{"mup and coupled", []optim.Part{optim.Rate(0.02, cosine), optim.Decay(0.3, optim.Coupled, nil), optim.MuP()},
			func(n *naive) {
				n.decay, n.coupled, n.decays, n.rate, n.schedule, n.mup = 0.3, true, asked, 0.02, cosine, true
			}},
		{"all", []optim.Part{optim.Clip(2), optim.Adam(0.9, 0.95, 1e-8), optim.Rate(0.02, cosine), optim.MuP(), optim.Decay(0.3, optim.Independent, nil)},
			func(n *naive) {
				n.clip, n.beta2, n.rate, n.schedule, n.mup, n.decay, n.decays = 2, 0.95, 0.02, cosine, true, 0.3, asked
			}},
	}
}

// TestAgainstEquations compares weights and moments with the naive optimizer over some steps, with
// each part on and off, in both float types.
func TestAgainstEquations(t *testing.T) {
	for _, c := range combinations() {
		for _, scale := range []float64{1, 0.25} {
			t.Run(c.name, func(t *testing.T) {
				compareSteps(t, c, scale, tensor.Float64, 1e-13)
				compareSteps(t, c, scale, tensor.Float32, 2e-6)
			})
		}
	}
}

func compareSteps(t *testing.T, c combination, gradScale float64, dt tensor.Dtype, tolerance float64) {
	store := newStore(t, dt)
	want := defaults()
	c.set(&want)
	want.gradScale = gradScale
	want.start(store)
	o, err := optim.New(store, 2, c.parts...)
	require.NoError(t, err)
	defer o.Close()
	for step := range 6 {
		setGradients(t, store, step)
		norm := want.step(store)
		stats, err := o.Step(gradScale)
		require.NoError(t, err)
		require.True(t, stats.Finite)
		require.InEpsilon(t, norm, stats.GradNorm, 1e-6)
		require.Equal(t, want.schedule.Factor(step), stats.Factor)
		require.Equal(t, step+1, o.Steps())
		for i, p := range store.Params() {
			require.InDeltaSlice(t, want.w[i], graph.Float64s(p.Value), tolerance, "%v, step %d, %q", dt, step, p.Name)
			require.InDeltaSlice(t, want.m[i], graph.Float64s(p.Moment1), 10*tolerance, "%v, step %d, mean of %q", dt, step, p.Name)
			require.InDeltaSlice(t, want.v[i], graph.Float64s(p.Moment2), 100*tolerance, "%v, step %d, squares of %q", dt, step, p.Name)
		}
	}
}
