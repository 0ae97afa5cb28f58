package analysis_test

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream"
)

// StaticKeel has a norm after each site, of the scale 1 / alpha.
func (n *naive) StaticKeel(site, to string, _ *mat.Dense) *mat.Dense {
	one := normMatrix(slices.Repeat([]float64{1}, n.c.Width()), false)
	written := func(name string, factor float64) *mat.Dense {
		return sized(one, factor*map[bool]float64{true: 1}[name == site])
	}
	x := plus(written("embedding", 1), written("positions", 1))
	for i := range 2 * n.c.Layers {
		name := fmt.Sprintf("blocks.%d.%s", i/2, []string{"attention", "feedforward"}[i%2])
		if name == to {
			return x
		}
		x = times(plus(x, written(name, 1/settingsOf[stream.KeelConfig](n.c).Alpha)), n.norm(name+".post"))
	}
	return x
}
