package analysis_test

import (
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// StaticGatedResidual reads by gates of 1/2 of rows that are alike.
func (n *naive) StaticGatedResidual(_, to string, m *mat.Dense) *mat.Dense {
	name, rows := "gated.norm", settingsOf[stream.GatedResidualConfig](n.c).N
	if to != "unembedding" {
		name = to + "." + name
	}
	_, out := m.Dims()
	m.Zero()
	for i, gain := range graph.Float64s(n.store.Param(name).Value) {
		m.Set(i%out, i%out, m.At(i%out, i%out)+gain/float64(2*rows))
	}
	return m
}

// EndGatedResidual is what the last read makes of the end.
func (n *naive) EndGatedResidual(token int, x []float64) []float64 {
	end, err := n.run.Get(n.run.Model().Stream().(stream.Additive).Output())
	require.NoError(n.t, err)
	out, err := n.frozen.Readout(end.Values)
	require.NoError(n.t, err)
	features, err := out.Features(token, x)
	require.NoError(n.t, err)
	return features
}
