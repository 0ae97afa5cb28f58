package kernel

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// lstmCase is a step of a cell with its inputs.
type lstmCase[T Float] struct {
	c, dcell, dh []T
	gates        LSTMGates[T]
}

func newLSTMCase[T Float](n int) lstmCase[T] {
	draw := func(seed uint64) []T { return normals[T](seed, n, 1.5) }
	return lstmCase[T]{c: draw(1), dcell: draw(2), dh: draw(3),
		gates: LSTMGates[T]{Input: draw(4), Forget: draw(5), Output: draw(6), Candidate: draw(7)}}
}

// lstmResult holds a step's results, or its gradients, given dh and an additional gradient of c'.
type lstmResult struct{ cell, hidden, dcell, dc, di, df, do, dg []float64 }

// naive computes the equations in float64, for the loss dcell c' + dh h'.
func (k lstmCase[T]) naive() (r lstmResult) {
	for j := range k.c {
		i, f, o, g := float64(k.gates.Input[j]), float64(k.gates.Forget[j]), float64(k.gates.Output[j]), float64(k.gates.Candidate[j])
		c, dh := float64(k.c[j]), float64(k.dh[j])
		slope := func(x float64) float64 { return naiveSigmoid(x) * naiveSigmoid(-x) }
		cell := naiveSigmoid(f)*c + naiveSigmoid(i)*g
		dcell := float64(k.dcell[j]) + dh*naiveSigmoid(o)
		r.cell, r.hidden = append(r.cell, cell), append(r.hidden, naiveSigmoid(o)*cell)
		r.dcell, r.do = append(r.dcell, dcell), append(r.do, dh*cell*slope(o))
		r.dc, r.df = append(r.dc, dcell*naiveSigmoid(f)), append(r.df, dcell*c*slope(f))
		r.dg, r.di = append(r.dg, dcell*naiveSigmoid(i)), append(r.di, dcell*g*slope(i))
	}
	return r
}

func TestLSTM(t *testing.T) {
	for _, n := range []int{1, 2, 13, 500, 2*lstmBlock + 31} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			forEachPath[float32](t, func(t *testing.T, p path) { testLSTM(t, newLSTMCase[float32](n), p, 1e-6) })
			testLSTM(t, newLSTMCase[float64](n), portable, 1e-14)
		})
	}
}

func testLSTM[T Float](t *testing.T, c lstmCase[T], on path, tolerance float64) {
	want, n := c.naive(), len(c.c)
	empty := func() []T { return make([]T, n) }
	for threads := 1; threads <= 3; threads++ {
		p := NewPool(threads)
		k := LSTM[T]{path: on}
		cell, hidden := empty(), empty()
		k.Forward(p, cell, hidden, c.c, c.gates)
		requireNear(t, want.cell, cell, tolerance, "c'")
		requireNear(t, want.hidden, hidden, tolerance, "h'")
		inPlace := slices.Clone(c.c)
		k.Forward(p, inPlace, nil, inPlace, c.gates)
		require.Equal(t, cell, inPlace, "in place, without h'")

		dcell, dc := empty(), empty()
		d := LSTMGates[T]{Input: empty(), Forget: empty(), Output: empty(), Candidate: empty()}
		k.OutputBackward(p, dcell, d.Output, c.dh, cell, c.gates.Output, c.dcell)
		k.CellBackward(p, dc, d, dcell, c.c, c.gates)
		for name, pair := range map[string]struct {
			want []float64
			got  []T
		}{"dcell": {want.dcell, dcell}, "do": {want.do, d.Output}, "dc": {want.dc, dc}, "df": {want.df, d.Forget},
			"di": {want.di, d.Input}, "dg": {want.dg, d.Candidate}} {
			requireNear(t, pair.want, pair.got, 3*tolerance, name)
		}
		checkLSTMUnwanted(t, &k, p, c, d, dc, dcell, cell)
		p.Close()
	}
}

// checkLSTMUnwanted omits every subset of the gradients: the others must keep their bits.
func checkLSTMUnwanted[T Float](t *testing.T, k *LSTM[T], p *Pool, c lstmCase[T], d LSTMGates[T], dc, dcell, cell []T) {
	n := len(c.c)
	inPlace := slices.Clone(c.dcell)
	k.OutputBackward(p, inPlace, nil, c.dh, cell, c.gates.Output, inPlace)
	require.Equal(t, dcell, inPlace, "dcell in the addend's place, without do")
	alone, want := make([]T, n), make([]T, n)
	k.OutputBackward(p, alone, nil, c.dh, cell, c.gates.Output, nil)
	k.OutputBackward(p, want, make([]T, n), c.dh, cell, c.gates.Output, make([]T, n))
	require.Equal(t, want, alone, "an addend of zeros")
	for choice := range 8 {
		var some LSTMGates[T]
		for bit, x := range []*[]T{&some.Input, &some.Forget, &some.Candidate} {
			if choice>>bit&1 == 1 {
				*x = make([]T, n)
			}
		}
		got := make([]T, n)
		k.CellBackward(p, got, some, dcell, c.c, c.gates)
		require.Equal(t, dc, got)
		for _, pair := range [][2][]T{{d.Input, some.Input}, {d.Forget, some.Forget}, {d.Candidate, some.Candidate}} {
			if pair[1] != nil {
				require.Equal(t, pair[0], pair[1])
			}
		}
	}
}

func TestLSTMWarmAllocatesNothing(t *testing.T) {
	c := newLSTMCase[float32](3000)
	x := newLSTMCase[float32](3000)
	p := NewPool(2)
	defer p.Close()
	var k LSTM[float32]
	requireNoAllocations(t, func() {
		k.Forward(p, x.c, x.dh, c.c, c.gates)
		k.OutputBackward(p, x.dcell, x.gates.Output, c.dh, x.c, c.gates.Output, c.dcell)
		k.CellBackward(p, x.dh, x.gates, x.dcell, c.c, c.gates)
	})
}
