package analysis_test

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// StaticSiamese has two norms at each site, of the stream x that it replaces and of the stream y
// that it is added to.
func (n *naive) StaticSiamese(site, to string, _ *mat.Dense) *mat.Dense {
	one := normMatrix(slices.Repeat([]float64{1}, n.c.Width()), false)
	written := func(name string, factor float64) *mat.Dense {
		return sized(one, factor*map[bool]float64{true: 1}[name == site])
	}
	x := written("embedding", 1)
	x.Add(x, written("positions", 1))
	y := mat.DenseCopyOf(x)
	for i := range 2 * n.c.Layers {
		name := fmt.Sprintf("blocks.%d.%s", i/2, []string{"attention", "feedforward"}[i%2])
		x = times(x, n.norm(name+".siamese.post"))
		read := plus(x, times(y, n.norm(name+".siamese.pre")))
		x, y = plus(x, written(name, 1/math.Sqrt(float64(2*(i/2+1))))), plus(y, written(name, 1))
		if name == to {
			return read
		}
	}
	return plus(times(x, n.norm("siamese.post")), times(y, n.norm("siamese.pre")))
}
