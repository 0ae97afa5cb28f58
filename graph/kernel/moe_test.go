package kernel

import (
	"fmt"
	"math"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

// moeCase is a mixture of experts. In a skewed case, some experts are chosen by no token, and one
// by most.
type moeCase struct {
	tokens, k, experts, width, hidden int
	exact, bias, skewed               bool
}

func (c moeCase) sizes() ExpertSizes {
	return ExpertSizes{Width: c.width, Hidden: c.hidden, Exact: c.exact}
}

func moeCases(t *testing.T, test func(t *testing.T, c moeCase)) {
	for _, c := range []moeCase{
		{tokens: 1, k: 1, experts: 1, width: 1, hidden: 1},
		{tokens: 5, k: 1, experts: 1, width: 3, hidden: 2, bias: true},
		{tokens: 7, k: 1, experts: 3, width: 5, hidden: 4, exact: true},
		{tokens: 7, k: 2, experts: 4, width: 3, hidden: 5, bias: true},
		{tokens: 3, k: 4, experts: 4, width: 2, hidden: 3},
		{tokens: 1, k: 2, experts: 5, width: 6, hidden: 7},
		{tokens: 23, k: 2, experts: 6, width: 5, hidden: 6, skewed: true, bias: true},
		{tokens: 97, k: 3, experts: 5, width: 33, hidden: 70, exact: true, bias: true},
		{tokens: 130, k: 2, experts: 4, width: 120, hidden: 40, skewed: true},
		{tokens: 150, k: 2, experts: 3, width: 40, hidden: 1100, bias: true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) { test(t, c) })
	}
}

// moeData holds the inputs of one mixture.
type moeData[T Float] struct {
	u, logits, w1, b1, w2, b2, dy []T
	gates, y, h, a, o             []T
	dispatch                      Dispatch
}

func newMoEData[T Float](c moeCase) *moeData[T] {
	rows := c.tokens * c.k
	s := &moeData[T]{
		u: normals[T](1, c.tokens*c.width, 1), logits: normals[T](2, c.tokens*c.experts, 1),
		w1: normals[T](3, c.experts*c.width*c.hidden, 1/math.Sqrt(float64(c.width))),
		w2: normals[T](4, c.experts*c.hidden*c.width, 1/math.Sqrt(float64(c.hidden))),
		dy: normals[T](5, c.tokens*c.width, 1), gates: make([]T, rows), y: make([]T, c.tokens*c.width),
		h: make([]T, rows*c.hidden), a: make([]T, rows*c.hidden), o: make([]T, rows*c.width),
		dispatch: NewDispatch(make([]int32, DispatchSize(c.tokens, c.k, c.experts)), c.tokens, c.k, c.experts),
	}
	if c.bias {
		s.b1, s.b2 = normals[T](6, c.experts*c.hidden, 1), normals[T](7, c.experts*c.width, 1)
	}
	for i := range s.logits {
		if c.skewed {
			s.logits[i] -= T(5 * (i % c.experts)) // no token chooses the last experts
		}
	}
	return s
}

// wide returns the same data in float64.
func (s *moeData[T]) wide(c moeCase) *moeData[float64] {
	w := newMoEData[float64](c)
	w.u, w.logits, w.w1, w.w2, w.dy = widen(s.u), widen(s.logits), widen(s.w1), widen(s.w2), widen(s.dy)
	if c.bias {
		w.b1, w.b2 = widen(s.b1), widen(s.b2)
	}
	return w
}

func (s *moeData[T]) forward(p *Pool, route *Route[T], k *Experts[T], c moeCase) {
	route.Forward(p, s.gates, s.logits, s.dispatch)
	k.Hidden(p, s.h, s.a, s.u, s.w1, s.b1, s.dispatch, c.sizes())
	k.Out(p, s.y, s.o, s.a, s.w2, s.b2, s.gates, s.dispatch, c.sizes())
}

// moeGradients holds the gradients of y . dy; dw1 to db2 accumulate if asked to.
type moeGradients[T Float] struct{ du, dlogits, dw1, db1, dw2, db2, dgates, dh, rows []T }

func newMoEGradients[T Float](s *moeData[T]) *moeGradients[T] {
	return &moeGradients[T]{du: make([]T, len(s.u)), dlogits: make([]T, len(s.logits)), dw1: make([]T, len(s.w1)), db1: make([]T, len(s.b1)),
		dw2: make([]T, len(s.w2)), db2: make([]T, len(s.b2)), dgates: make([]T, len(s.gates)), dh: make([]T, len(s.h)), rows: make([]T, len(s.o))}
}

func (s *moeData[T]) backward(p *Pool, route *Route[T], k *Experts[T], g *moeGradients[T], c moeCase, accumulate bool) {
	d, sizes := s.dispatch, c.sizes()
	k.GradHidden(p, g.dh, g.dgates, s.dy, s.w2, s.b2, s.a, s.h, s.gates, d, sizes)
	k.GradW2(p, g.dw2, s.a, s.dy, s.gates, d, sizes, accumulate)
	k.GradU(p, g.du, g.rows, g.dh, s.w1, d, sizes, false)
	k.GradW1(p, g.dw1, s.u, g.dh, d, sizes, accumulate)
	if c.bias {
		k.GradB1(p, g.db1, g.dh, d, sizes, accumulate)
		k.GradB2(p, g.db2, s.dy, s.gates, d, sizes, accumulate)
	}
	route.Backward(p, g.dlogits, g.dgates, s.logits, c.tokens, c.k, c.experts)
}

// all lists the gradients by name.
func (g *moeGradients[T]) all() map[string][]T {
	return map[string][]T{"du": g.du, "dlogits": g.dlogits, "dw1": g.dw1, "db1": g.db1, "dw2": g.dw2, "db2": g.db2}
}

// naiveProbabilities returns the softmax of each token's logits, and log Z.
func naiveProbabilities(logits []float64, experts int) (p, logZ []float64) {
	for t := 0; t < len(logits); t += experts {
		var sum float64
		for _, l := range logits[t : t+experts] {
			sum += math.Exp(l)
		}
		for _, l := range logits[t : t+experts] {
			p = append(p, math.Exp(l)/sum)
		}
		logZ = append(logZ, math.Log(sum))
	}
	return p, logZ
}

// naiveMoE computes a mixture token by token.
func naiveMoE(s *moeData[float64], c moeCase) (y, gates []float64, choices []int32) {
	p, _ := naiveProbabilities(s.logits, c.experts)
	for t := range c.tokens {
		order := make([]int, c.experts)
		for e := range order {
			order[e] = e
		}
		row := p[t*c.experts:]
		sort.SliceStable(order, func(i, j int) bool { return row[order[i]] > row[order[j]] })
		sum := 0.0
		for _, e := range order[:c.k] {
			sum += row[e]
		}
		if c.k == 1 {
			sum = 1
		}
		out := make([]float64, c.width)
		for _, e := range order[:c.k] {
			gates, choices = append(gates, row[e]/sum), append(choices, int32(e))
			for i, v := range naiveExpert(s, c, t, e) {
				out[i] += row[e] / sum * v
			}
		}
		y = append(y, out...)
	}
	return y, gates, choices
}

// naiveExpert computes expert e's output for token t.
func naiveExpert(s *moeData[float64], c moeCase, t, e int) []float64 {
	out := make([]float64, c.width)
	if c.bias {
		copy(out, s.b2[e*c.width:])
	}
	for f := range c.hidden {
		h := 0.0
		if c.bias {
			h = s.b1[e*c.hidden+f]
		}
		for i := range c.width {
			h += s.u[t*c.width+i] * s.w1[(e*c.width+i)*c.hidden+f]
		}
		a := h / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(h+0.044715*h*h*h)))
		if c.exact {
			a = h / 2 * math.Erfc(-h/math.Sqrt2)
		}
		for i := range c.width {
			out[i] += a * s.w2[(e*c.hidden+f)*c.width+i]
		}
	}
	return out
}

func TestMoEForward(t *testing.T) {
	moeCases(t, func(t *testing.T, c moeCase) {
		testMoEForward[float64](t, c, 1e-12)
		testMoEForward[float32](t, c, 2e-5)
	})
}

func testMoEForward[T Float](t *testing.T, c moeCase, tolerance float64) {
	s := newMoEData[T](c)
	y, gates, choices := naiveMoE(s.wide(c), c)
	for _, threads := range []int{1, 3} {
		s.forward(NewPool(threads), &Route[T]{}, &Experts[T]{}, c)
		require.Equal(t, choices, s.dispatch.Choices)
		requireNear(t, gates, s.gates, tolerance, "gates")
		requireNear(t, y, s.y, tolerance, "y")
	}
	requireSorted(t, s.dispatch)
	only := make([]T, len(s.h))
	(&Experts[T]{}).Hidden(nil, only, nil, s.u, s.w1, s.b1, s.dispatch, c.sizes())
	require.Equal(t, s.h, only, "h alone")
}
