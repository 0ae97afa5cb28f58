package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMoEBackwardFiniteDifferences(t *testing.T) {
	moeCases(t, func(t *testing.T, c moeCase) {
		if c.tokens*c.hidden > 1000 {
			return // central differences of so large a case take too long
		}
		s := newMoEData[float64](c)
		var route Route[float64]
		var k Experts[float64]
		loss := func() float64 {
			s.forward(nil, &route, &k, c)
			return inner(s.y, s.dy)
		}
		want := map[string][]float64{"du": slope(s.u, loss), "dlogits": slope(s.logits, loss), "dw1": slope(s.w1, loss),
			"db1": slope(s.b1, loss), "dw2": slope(s.w2, loss), "db2": slope(s.b2, loss)}
		loss()
		g := newMoEGradients(s)
		s.backward(NewPool(3), &route, &k, g, c, false)
		for name, got := range g.all() {
			requireNear(t, want[name], got, 1e-6, name)
		}
	})
}

func TestMoEBackwardSingle(t *testing.T) {
	moeCases(t, func(t *testing.T, c moeCase) {
		s := newMoEData[float32](c)
		wide := s.wide(c)
		wide.forward(nil, &Route[float64]{}, &Experts[float64]{}, c)
		want := newMoEGradients(wide)
		wide.backward(nil, &Route[float64]{}, &Experts[float64]{}, want, c, false)

		p := NewPool(2)
		defer p.Close()
		var route Route[float32]
		var k Experts[float32]
		s.forward(p, &route, &k, c)
		g := newMoEGradients(s)
		s.backward(p, &route, &k, g, c, false)
		for name, got := range g.all() {
			requireNear(t, want.all()[name], got, 3e-5, name)
		}
		testMoEOptions(t, p, &k, s, c, g)
	})
}

// testMoEOptions runs the parts of the backward pass that have options; g holds the right
// gradients.
func testMoEOptions(t *testing.T, p *Pool, k *Experts[float32], s *moeData[float32], c moeCase, g *moeGradients[float32]) {
	again := newMoEGradients(s)
	s.backward(p, &Route[float32]{}, k, again, c, false)
	require.Equal(t, g, again)
	s.backward(p, &Route[float32]{}, k, again, c, true)
	for name, got := range again.all() {
		if name != "du" && name != "dlogits" {
			requireNear(t, doubled(g.all()[name]), got, 1e-5, "accumulated "+name)
		}
	}
	k.GradU(p, again.du, again.rows, again.dh, s.w1, s.dispatch, c.sizes(), true)
	requireNear(t, doubled(g.du), again.du, 1e-5, "accumulated du")
	// Two steps, without the gates' gradient, give the same bits.
	k.GradHidden(p, again.dh, nil, s.dy, s.w2, s.b2, s.a, nil, s.gates, s.dispatch, c.sizes())
	(&Elementwise[float32]{}).Run(p, ActivateGradient[float32], [][]float32{again.dh}, [][]float32{again.dh, s.h}, float64(Gelu(c.exact)))
	require.Equal(t, g.dh, again.dh)
}

// The gradients of the weights of an expert without tokens are 0, or keep their old content,
// whatever those weights are; nothing else becomes NaN because of it.
func TestMoEEmptyExperts(t *testing.T) {
	c := moeCase{tokens: 40, k: 2, experts: 5, width: 17, hidden: 35, bias: true}
	s := newMoEData[float32](c)
	for i := range s.logits {
		if e := i % c.experts; e == 0 || e == 3 {
			s.logits[i] = -1e9 // these two are empty
		}
	}
	p := NewPool(2)
	defer p.Close()
	var route Route[float32]
	var k Experts[float32]
	s.forward(p, &route, &k, c)
	counts := make([]int32, c.experts)
	s.dispatch.Counts(counts)
	require.Zero(t, counts[0]+counts[3])

	g := newMoEGradients(s)
	weights := map[string][]float32{"dw1": g.dw1, "db1": g.db1, "dw2": g.dw2, "db2": g.db2}
	for _, x := range weights {
		for i := range x {
			x[i] = float32(math.NaN()) // must not be read
		}
	}
	s.backward(p, &route, &k, g, c, false)
	for name, x := range g.all() {
		for i, v := range x {
			require.False(t, v != v, "%s, element %d", name, i)
		}
	}
	own := func(test func(name string, x []float32)) { // the part of x that belongs to the empty experts
		for name, x := range weights {
			size := len(x) / c.experts
			test(name, x[:size])
			test(name, x[3*size:4*size])
		}
	}
	own(func(name string, x []float32) {
		require.Equal(t, make([]float32, len(x)), x, name)
		for i := range x {
			x[i] = float32(i) + 0.5
		}
	})
	s.backward(p, &route, &k, g, c, true)
	own(func(name string, x []float32) {
		for i, v := range x {
			require.Equal(t, float32(i)+0.5, v, name)
		}
	})
}
