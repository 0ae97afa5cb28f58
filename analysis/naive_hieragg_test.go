package analysis_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream"
)

// StaticHieragg has the norms of the aggregates between a site and a reader.
func (n *naive) StaticHieragg(site, to string, m *mat.Dense) *mat.Dense {
	for l := 1; l < n.c.Layers; l += 2 {
		if position(site) <= 10*l+5 && 10*l+5 < position(to) {
			name := "aggregate.norm"
			if settingsOf[stream.HieraggConfig](n.c).Separate {
				name = fmt.Sprintf("blocks.%d.aggregate.norm", l)
			}
			m = times(m, n.norm(name))
		}
	}
	return m
}
