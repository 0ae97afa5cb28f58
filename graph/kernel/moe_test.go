package kernel

import (
	"fmt"
	"math"
	"runtime"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
)

// moeCase is a mixture of experts. Skewed ones have experts that no token chooses, and one
// that most choose.
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

// moeData is what one mixture works on.
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
			s.logits[i] -= T(5 * (i % c.experts)) // the last experts get nobody
		}
	}
	return s
}

// wide is the same data in float64.
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

// moeGradients are the gradients of y . dy; dw1 to db2 accumulate where asked.
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

// naiveProbabilities is the softmax of each token's logits, and log Z.
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

// naiveMoE goes through the tokens one by one.
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

// naiveExpert is expert e's output for token t.
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

// requireSorted checks what a Dispatch promises of its rows.
func requireSorted(t *testing.T, d Dispatch) {
	t.Helper()
	counts := make([]int32, d.Experts)
	d.Counts(counts)
	require.EqualValues(t, 0, d.Offsets[0])
	require.EqualValues(t, d.Rows(), d.Offsets[d.Experts])
	row := 0
	for e := range d.Experts {
		for i := range int(counts[e]) {
			require.EqualValues(t, e, d.expert(row))
			require.EqualValues(t, row, d.Places[d.Order[row]])
			if i > 0 {
				require.Less(t, d.token(row-1), d.token(row))
			}
			row++
		}
	}
}

// Ties go to the lowest index, at every rank.
func TestRouteTies(t *testing.T) {
	inf := float32(math.Inf(1))
	nan := float32(math.NaN())
	for _, c := range []struct {
		logits []float32
		want   []int32
	}{
		{[]float32{0, 0, 0, 0}, []int32{0, 1, 2}},
		{[]float32{1, 2, 2, 1}, []int32{1, 2, 0}},
		{[]float32{0, 3, 1, 3}, []int32{1, 3, 2}},
		{[]float32{-1, -1, 5, -1}, []int32{2, 0, 1}},
		{[]float32{3, 2, 1, 0}, []int32{0, 1, 2}},
		{[]float32{0, 1, 2, 3}, []int32{3, 2, 1}},
		{[]float32{-inf, 0, -inf, -inf}, []int32{1, 0, 2}},
		{[]float32{nan, nan, nan, nan}, []int32{0, 1, 2}},
	} {
		for k := 1; k <= 3; k++ {
			d := NewDispatch(make([]int32, DispatchSize(1, k, 4)), 1, k, 4)
			gates := make([]float32, k)
			(&Route[float32]{}).Forward(nil, gates, c.logits, d)
			require.Equal(t, c.want[:k], d.Choices, "%v", c.logits)
			require.Equal(t, c.logits[0] != c.logits[0], gates[0] != gates[0], "%v", c.logits)
		}
	}
}

// A NaN anywhere in a token's logits is not lost, even where its expert is not chosen.
func TestRouteNaN(t *testing.T) {
	d := NewDispatch(make([]int32, DispatchSize(1, 2, 3)), 1, 2, 3)
	gates := make([]float32, 2)
	(&Route[float32]{}).Forward(nil, gates, []float32{1, 2, float32(math.NaN())}, d)
	require.True(t, gates[0] != gates[0] && gates[1] != gates[1])
}

func TestMoEBackwardFiniteDifferences(t *testing.T) {
	moeCases(t, func(t *testing.T, c moeCase) {
		if c.tokens*c.hidden > 1000 {
			return // central differences of this many elements take too long
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

// testMoEOptions runs the parts of the backward pass that take options; g is right.
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
	// In two steps, without the gates' gradient: the same bits.
	k.GradHidden(p, again.dh, nil, s.dy, s.w2, s.b2, s.a, nil, s.gates, s.dispatch, c.sizes())
	(&Gelu[float32]{}).Backward(p, again.dh, again.dh, s.h, c.exact)
	require.Equal(t, g.dh, again.dh)
}

// The weights of an expert without tokens have the gradient 0, or keep what they have,
// whatever it is; nothing else becomes NaN by it.
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
			x[i] = float32(math.NaN()) // not to be read
		}
	}
	s.backward(p, &route, &k, g, c, false)
	for name, x := range g.all() {
		for i, v := range x {
			require.False(t, v != v, "%s, element %d", name, i)
		}
	}
	own := func(test func(name string, x []float32)) { // what belongs to the empty experts
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

// The fast paths against the portable one.
func TestMoEPaths(t *testing.T) {
	moeCases(t, func(t *testing.T, c moeCase) {
		run := func(p path) (*moeData[float32], *moeGradients[float32]) {
			s := newMoEData[float32](c)
			route, k := Route[float32]{path: p}, Experts[float32]{gemm: ExpertGemm[float32]{path: p}}
			s.forward(nil, &route, &k, c)
			g := newMoEGradients(s)
			s.backward(nil, &route, &k, g, c, false)
			return s, g
		}
		want, wantGradients := run(portable)
		for p := portable + 1; p <= machinePath; p++ {
			got, gradients := run(p)
			require.Equal(t, want.dispatch.Choices, got.dispatch.Choices)
			requireNear(t, widen(want.y), got.y, 2e-5, pathNames[p])
			for name, x := range gradients.all() {
				requireNear(t, widen(wantGradients.all()[name]), x, 3e-5, pathNames[p]+" "+name)
			}
		}
	})
}

// For a thread count the bits are the same each time; those of the rows do not even depend
// on it.
func TestMoESameBitsForTheSameThreads(t *testing.T) {
	for _, c := range []moeCase{
		{tokens: 230, k: 2, experts: 7, width: 50, hidden: 90, bias: true},
		{tokens: 3, k: 2, experts: 7, width: 50, hidden: 200, bias: true}, // few rows are divided by columns
	} {
		run := func(threads int) (*moeData[float32], *moeGradients[float32]) {
			s := newMoEData[float32](c)
			p := NewPool(threads)
			defer p.Close()
			var route Route[float32]
			var k Experts[float32]
			s.forward(p, &route, &k, c)
			g := newMoEGradients(s)
			s.backward(p, &route, &k, g, c, false)
			return s, g
		}
		one, oneGradients := run(1)
		for threads := 1; threads <= 4; threads++ {
			s, g := run(threads)
			again, gradientsAgain := run(threads)
			require.Equal(t, s, again)
			require.Equal(t, g, gradientsAgain)
			require.Equal(t, one.y, s.y)
			require.Equal(t, oneGradients.du, g.du)
			require.Equal(t, oneGradients.db1, g.db1)
			require.Equal(t, oneGradients.dw1, g.dw1)
			require.Equal(t, oneGradients.dw2, g.dw2)
		}
	}
}

func TestMoEWarmAllocatesNothing(t *testing.T) {
	for _, threads := range []int{1, 2} {
		c := moeCase{tokens: 33, k: 2, experts: 4, width: 20, hidden: 40, bias: true}
		s := newMoEData[float32](c)
		p := NewPool(threads)
		defer p.Close()
		var route Route[float32]
		var k Experts[float32]
		var losses RouterLosses[float32]
		g := newMoEGradients(s)
		requireNoAllocations(t, func() {
			s.forward(p, &route, &k, c)
			s.backward(p, &route, &k, g, c, true)
			losses.Balance(p, s.logits, s.dispatch)
			losses.BalanceGradient(p, g.dlogits, s.logits, s.dispatch, 0.5)
			losses.ZLoss(p, s.logits, c.tokens, c.experts)
			losses.ZLossGradient(p, g.dlogits, s.logits, c.tokens, c.experts, 0.5)
		})
	}
}

func TestRouterLosses(t *testing.T) {
	moeCases(t, func(t *testing.T, c moeCase) {
		testRouterLosses[float64](t, c, 1e-12)
		testRouterLosses[float32](t, c, 2e-6)
	})
}

func testRouterLosses[T Float](t *testing.T, c moeCase, tolerance float64) {
	s := newMoEData[T](c)
	wide := s.wide(c)
	(&Route[T]{}).Forward(nil, s.gates, s.logits, s.dispatch)
	_, _, choices := naiveMoE(wide, c)
	balance := func() (loss float64) {
		p, _ := naiveProbabilities(wide.logits, c.experts)
		for e := range c.experts {
			var f, mean float64
			for _, chosen := range choices {
				if int(chosen) == e {
					f += 1 / float64(len(choices))
				}
			}
			for t := range c.tokens {
				mean += p[t*c.experts+e] / float64(c.tokens)
			}
			loss += float64(c.experts) * f * mean
		}
		return loss
	}
	z := func() (loss float64) {
		_, logZ := naiveProbabilities(wide.logits, c.experts)
		return inner(logZ, logZ) / float64(c.tokens)
	}
	p := NewPool(3)
	defer p.Close()
	var k RouterLosses[T]
	require.InEpsilon(t, balance(), k.Balance(p, s.logits, s.dispatch), tolerance)
	require.InEpsilon(t, 1+z(), 1+k.ZLoss(p, s.logits, c.tokens, c.experts), tolerance)
	got := make([]T, len(s.logits))
	k.BalanceGradient(p, got, s.logits, s.dispatch, -1.5)
	requireNear(t, scaled(slope(wide.logits, balance), -1.5), got, 1e-6, "balance")
	k.ZLossGradient(p, got, s.logits, c.tokens, c.experts, 0.25)
	requireNear(t, scaled(slope(wide.logits, z), 0.25), got, 1e-6, "z-loss")
}

func scaled(x []float64, factor float64) []float64 {
	for i := range x {
		x[i] *= factor
	}
	return x
}

// A load that is the same for all experts has the balance 1.
func TestBalanceOfEqualLoads(t *testing.T) {
	const experts = 4
	d := NewDispatch(make([]int32, DispatchSize(experts, 1, experts)), experts, 1, experts)
	logits := make([]float64, experts*experts)
	for e := range experts {
		logits[e*experts+e] = 2
	}
	(&Route[float64]{}).Forward(nil, make([]float64, experts), logits, d)
	require.InDelta(t, 1, (&RouterLosses[float64]{}).Balance(nil, logits, d), 1e-14)
}

// BenchmarkMoE compares a training step of 8 experts, 2 a token, with that of the dense
// feed-forward of the same multiplications.
func BenchmarkMoE(b *testing.B) {
	for _, c := range []moeCase{
		{tokens: 2048, k: 2, experts: 8, width: 768, hidden: 1536},
		{tokens: 4096, k: 2, experts: 8, width: 256, hidden: 512},
		{tokens: 4096, k: 2, experts: 64, width: 256, hidden: 512},
		{tokens: 4096, k: 2, experts: 8, width: 256, hidden: 512, skewed: true},
	} {
		flops := 3 * 4 * float64(c.tokens*c.k*c.width*c.hidden)
		b.Run(fmt.Sprintf("experts/%+v", c), func(b *testing.B) {
			benchmarkMoE(b, c)
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
		})
		b.Run(fmt.Sprintf("dense/%+v", c), func(b *testing.B) {
			benchmarkDense(b, c)
			b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
		})
	}
}

func benchmarkMoE(b *testing.B, c moeCase) {
	s, p := newMoEData[float32](c), NewPool(runtime.GOMAXPROCS(0))
	defer p.Close()
	var route Route[float32]
	var k Experts[float32]
	var linear Gemm[float32]
	router, drouter := normals[float32](8, c.width*c.experts, 0.02), make([]float32, c.width*c.experts)
	s.logits = make([]float32, len(s.logits))
	g, du := newMoEGradients(s), make([]float32, len(s.u))
	var sum Add[float32]
	inputs := [][]float32{du, g.du}
	for b.Loop() {
		linear.Run(p, false, false, c.tokens, c.experts, c.width, 1, s.u, c.width, router, c.experts, 0, s.logits, c.experts)
		if c.skewed {
			for i := range s.logits {
				s.logits[i] -= float32(i%c.experts) / 2
			}
		}
		s.forward(p, &route, &k, c)
		s.backward(p, &route, &k, g, c, false)
		linear.Run(p, false, true, c.tokens, c.width, c.experts, 1, g.dlogits, c.experts, router, c.experts, 0, du, c.width)
		linear.Run(p, true, false, c.width, c.experts, c.tokens, 1, s.u, c.width, g.dlogits, c.experts, 0, drouter, c.experts)
		sum.Run(p, g.du, inputs, false)
	}
}

func benchmarkDense(b *testing.B, c moeCase) {
	p := NewPool(runtime.GOMAXPROCS(0))
	defer p.Close()
	hidden := c.k * c.hidden
	fresh := func(n int) []float32 { return normals[float32](1, n, 0.1) }
	u, y, dy, du := fresh(c.tokens*c.width), fresh(c.tokens*c.width), fresh(c.tokens*c.width), fresh(c.tokens*c.width)
	w1, w2, dw1, dw2 := fresh(c.width*hidden), fresh(c.width*hidden), fresh(c.width*hidden), fresh(c.width*hidden)
	h, a, dh := fresh(c.tokens*hidden), fresh(c.tokens*hidden), fresh(c.tokens*hidden)
	var gelu GemmGelu[float32]
	var linear Gemm[float32]
	for b.Loop() {
		gelu.Forward(p, a, h, u, w1, c.tokens, c.width, hidden, false, false)
		linear.Run(p, false, false, c.tokens, c.width, hidden, 1, a, hidden, w2, c.width, 0, y, c.width)
		gelu.Backward(p, dh, h, dy, w2, c.tokens, hidden, c.width, false, false)
		linear.Run(p, true, false, hidden, c.width, c.tokens, 1, a, hidden, dy, c.width, 0, dw2, c.width)
		linear.Run(p, false, true, c.tokens, c.width, hidden, 1, dh, hidden, w1, hidden, 0, du, c.width)
		linear.Run(p, true, false, c.width, hidden, c.tokens, 1, u, c.width, dh, hidden, 0, dw1, hidden)
	}
}
