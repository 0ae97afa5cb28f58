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
	i, f, o, g   []T // gates before their sigmoid, and the candidate
}

func newLSTMCase[T Float](n int) lstmCase[T] {
	draw := func(seed uint64) []T { return normals[T](seed, n, 1.5) }
	return lstmCase[T]{c: draw(1), dcell: draw(2), dh: draw(3), i: draw(4), f: draw(5), o: draw(6), g: draw(7)}
}

// forward computes c' and, unless hidden is nil, h' from c.
func (s lstmCase[T]) forward(k *Elementwise[T], p *Pool, cell, hidden, c []T) {
	k.Run(p, InstanceOf[T](LSTMCell[float32], LSTMCell[float64]), [][]T{cell, hidden}, [][]T{c, s.i, s.f, s.g, s.o})
}

func (s lstmCase[T]) outputGradient(k *Elementwise[T], p *Pool, dcell, do, cell, addend []T) {
	k.Run(p, InstanceOf[T](LSTMOutputGradient[float32], LSTMOutputGradient[float64]), [][]T{dcell, do}, [][]T{s.dh, cell, s.o, addend})
}

func (s lstmCase[T]) cellGradient(k *Elementwise[T], p *Pool, dc, di, df, dg, dcell []T) {
	k.Run(p, InstanceOf[T](LSTMCellGradient[float32], LSTMCellGradient[float64]), [][]T{dc, di, df, dg}, [][]T{dcell, s.c, s.i, s.f, s.g})
}

// lstmResult holds a step's results, or its gradients, given dh and an additional gradient of c'.
type lstmResult struct{ cell, hidden, dcell, dc, di, df, do, dg []float64 }

// naive computes the equations in float64, for the loss dcell c' + dh h'.
func (k lstmCase[T]) naive() (r lstmResult) {
	for j := range k.c {
		i, f, o, g := float64(k.i[j]), float64(k.f[j]), float64(k.o[j]), float64(k.g[j])
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
		k := &Elementwise[T]{path: on}
		cell, hidden := empty(), empty()
		c.forward(k, p, cell, hidden, c.c)
		requireNear(t, want.cell, cell, tolerance, "c'")
		requireNear(t, want.hidden, hidden, tolerance, "h'")
		inPlace := slices.Clone(c.c)
		c.forward(k, p, inPlace, nil, inPlace)
		require.Equal(t, cell, inPlace, "in place, without h'")

		dcell, dc, di, df, do, dg := empty(), empty(), empty(), empty(), empty(), empty()
		c.outputGradient(k, p, dcell, do, cell, c.dcell)
		c.cellGradient(k, p, dc, di, df, dg, dcell)
		for name, pair := range map[string]struct {
			want []float64
			got  []T
		}{"dcell": {want.dcell, dcell}, "do": {want.do, do}, "dc": {want.dc, dc}, "df": {want.df, df}, "di": {want.di, di}, "dg": {want.dg, dg}} {
			requireNear(t, pair.want, pair.got, 3*tolerance, name)
		}
		checkLSTMUnwanted(t, k, p, c, [3][]T{di, df, dg}, dc, dcell, cell)
		p.Close()
	}
}

// checkLSTMUnwanted omits every subset of the gradients di, df and dg: the others must keep their
// bits.
func checkLSTMUnwanted[T Float](t *testing.T, k *Elementwise[T], p *Pool, c lstmCase[T], d [3][]T, dc, dcell, cell []T) {
	n := len(c.c)
	inPlace := slices.Clone(c.dcell)
	c.outputGradient(k, p, inPlace, nil, cell, inPlace)
	require.Equal(t, dcell, inPlace, "dcell in the addend's place, without do")
	alone, want := make([]T, n), make([]T, n)
	c.outputGradient(k, p, alone, nil, cell, nil)
	c.outputGradient(k, p, want, make([]T, n), cell, make([]T, n))
	require.Equal(t, want, alone, "an addend of zeros")
	for choice := range 8 {
		var some [3][]T
		for bit := range some {
			if choice>>bit&1 == 1 {
				some[bit] = make([]T, n)
			}
		}
		got := make([]T, n)
		c.cellGradient(k, p, got, some[0], some[1], some[2], dcell)
		require.Equal(t, dc, got)
		for i, x := range some {
			if x != nil {
				require.Equal(t, d[i], x)
			}
		}
	}
}

func TestLSTMWarmAllocatesNothing(t *testing.T) {
	c, x := newLSTMCase[float32](3000), newLSTMCase[float32](3000)
	p := NewPool(2)
	defer p.Close()
	var k Elementwise[float32]
	requireNoAllocations(t, func() {
		c.forward(&k, p, x.c, x.dh, c.c)
		c.outputGradient(&k, p, x.dcell, x.o, x.c, c.dcell)
		c.cellGradient(&k, p, x.dh, x.i, x.f, x.g, x.dcell)
	})
}
