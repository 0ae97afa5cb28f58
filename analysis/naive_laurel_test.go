package analysis_test

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// StaticLaurel is what LAuReL makes of what a site writes where another reads.
func (n *naive) StaticLaurel(site, to string, _ *mat.Dense) *mat.Dense {
	one := normMatrix(slices.Repeat([]float64{1}, n.c.Width()), false)
	written := func(names ...string) *mat.Dense {
		return sized(one, map[bool]float64{true: 1}[slices.Contains(names, site)])
	}
	gain := func(name string) *mat.Dense { return normMatrix(graph.Float64s(n.store.Param(name).Value), false) }
	xs, settings := []*mat.Dense{written("embedding", "positions")}, settingsOf[stream.LaurelConfig](n.c) // the last one first
	for i := range 2 * n.c.Layers {
		name := fmt.Sprintf("blocks.%d.%s", i/2, []string{"attention", "feedforward"}[i%2])
		if name == to {
			break
		}
		next := xs[0]
		switch {
		case settings.Form != "gemma":
			alpha, beta := n.weighted(name)
			next = plus(sized(written(name), alpha), sized(plus(next, n.extra(name+".laurel.", xs)), beta))
		case i%2 == 0:
			u := times(next, n.norm(name+".norm"))
			low := times(u, n.param(name+".laurel.left"), n.param(name+".laurel.right"), gain(name+".laurel.norm"))
			next = sized(plus(plus(next, u), plus(low, times(written(name), gain(name+".post")))), 1/math.Sqrt2)
		default:
			next = plus(next, times(written(name), gain(name+".post")))
		}
		xs = append([]*mat.Dense{next}, xs...)
	}
	return xs[0]
}

// weighted are LAuReL's weights of what a site adds and of the stream.
func (n *naive) weighted(site string) (alpha, beta float64) {
	c, w := settingsOf[stream.LaurelConfig](n.c), graph.Float64s(n.store.Param(site+".laurel.weights").Value)
	a, b := math.Exp(w[0]), math.Exp(w[1])
	if c.Weights == "sigmoid" {
		return c.WeightScale * a / (1 + a), c.WeightScale * b / (1 + b)
	}
	return c.WeightScale * a / (a + b), c.WeightScale * b / (a + b)
}

// extra is what LAuReL adds to a site's stream, the first of xs.
func (n *naive) extra(prefix string, xs []*mat.Dense) *mat.Dense {
	rank, gamma := settingsOf[stream.LaurelConfig](n.c).Rank, []float64{1}
	if p := n.store.Param(prefix + "gamma"); p != nil {
		gamma = graph.Float64s(p.Value)
	}
	sum := sized(xs[0], 0)
	for j, factor := range gamma {
		left, right := n.param(prefix+"left").Slice(0, n.c.Width(), j*rank, (j+1)*rank), n.param(prefix+"right").Slice(j*rank, (j+1)*rank, 0, n.c.Width())
		sum = plus(sum, sized(times(xs[j], left, right), factor))
	}
	return sum
}
