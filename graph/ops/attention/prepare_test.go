package attention

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

// prepareCases returns cases of Prepare with each of its parts and with all of them.
func prepareCases() []optest.Case {
	const tokens = 5
	make := func(name string, heads, kvHeads, dim int, normed, mixed, learned bool) optest.Case {
		c := optest.Case{Name: "PrepareQKV/" + name, Floats: [][]int{{tokens, (heads + 2*kvHeads) * dim}}}
		if normed {
			c.Floats = append(c.Floats, []int{dim}, []int{dim})
		}
		if mixed {
			c.Floats = append(c.Floats, []int{tokens, kvHeads * dim})
		}
		switch {
		case learned:
			c.Floats = append(c.Floats, []int{2})
			c.MayBeNil = []int{len(c.Floats) - 1}
		case mixed:
			c.MayBeNil = []int{len(c.Floats) - 1}
		}
		c.Build = func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			return Prepare(b, x[0], preparationOf(x, Preparation{Heads: heads, KVHeads: kvHeads, Eps: 0.01}, normed, mixed, learned))
		}
		c.Want = func(x [][]float64, _ [][]int32) []float64 {
			return wantPrepared(x, heads, kvHeads, dim, normed, mixed, learned)
		}
		return c
	}
	return []optest.Case{
		make("norm", 3, 3, 4, true, false, false),
		make("norm of shared heads", 4, 2, 3, true, false, false),
		make("fixed", 2, 2, 3, false, true, false),
		make("learned", 4, 1, 5, false, true, true),
		make("norm and fixed", 2, 1, 4, true, true, false),
		make("everything", 4, 2, 6, true, true, true),
		{Name: "Values", Floats: [][]int{{tokens, (4 + 2*2) * 3}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return Values(b, x[0], 4, 2) },
			Want: func(x [][]float64, _ [][]int32) (v []float64) {
				for t := range tokens {
					v = append(v, x[0][t*24+18:][:6]...)
				}
				return v
			}},
		{Name: "Values/with attention", Floats: [][]int{{tokens, (4 + 2*2) * 2}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				first := Values(b, x[0], 4, 2) // [tokens, 4], read twice
				for range 2 {
					x[0] = Prepare(b, x[0], Preparation{Heads: 4, KVHeads: 2, First: first})
				}
				return Causal(b, x[0], Options{Heads: 4, KVHeads: 2, Seq: tokens, Scale: 0.5})
			},
			Want: func(x [][]float64, _ [][]int32) []float64 { // mixing equal values by half changes nothing
				return wantAttention(x[0], nil, 1, 2, Options{Heads: 4, KVHeads: 2, Seq: tokens, Scale: 0.5})
			}},
	}
}

// preparationOf puts the inputs of a case into the options.
func preparationOf(x gorgonia.Nodes, o Preparation, normed, mixed, learned bool) Preparation {
	next := 1
	take := func() *gorgonia.Node { next++; return x[next-1] }
	if normed {
		o.QueryGain, o.KeyGain = take(), take()
	}
	if mixed {
		o.First = take()
	}
	if learned {
		o.Weights = take()
	}
	return o
}

// wantPrepared computes the equations of Prepare.
func wantPrepared(x [][]float64, heads, kvHeads, dim int, normed, mixed, learned bool) []float64 {
	y := append([]float64(nil), x[0]...)
	packed, weights := heads+2*kvHeads, []float64{0.5, 0.5}
	if learned {
		weights = x[len(x)-1]
	}
	for at := 0; at < len(y); at += dim {
		head, token := at/dim%packed, at/dim/packed
		v := y[at : at+dim]
		switch {
		case head < heads+kvHeads && normed:
			gain, square := x[1], 0.0
			if head >= heads {
				gain = x[2]
			}
			for _, e := range v {
				square += e * e / float64(dim)
			}
			for i := range v {
				v[i] *= gain[i] / math.Sqrt(square+0.01)
			}
		case head >= heads+kvHeads && mixed:
			first := x[1]
			if normed {
				first = x[3]
			}
			for i := range v {
				v[i] = weights[0]*v[i] + weights[1]*first[(token*kvHeads+head-heads-kvHeads)*dim+i]
			}
		}
	}
	return y
}
