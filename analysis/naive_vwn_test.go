package analysis_test

import (
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream"
)

// StaticVWN is the identity, and of what is expanded the map that does it.
func (n *naive) StaticVWN(site, _ string, m *mat.Dense) *mat.Dense {
	if site != "embedding" && site != "positions" || !settingsOf[stream.VWNConfig](n.c).Expand {
		return m
	}
	_, out := m.Dims()
	wide := mat.NewDense(n.c.StreamSize(), out, nil)
	for i := range min(out, n.c.StreamSize()) {
		wide.Set(i, i, 1)
	}
	return times(n.param("expand"), wide)
}
