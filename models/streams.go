package models

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// newStream is the list of streams: a new one adds its case here.
func newStream(b *graph.Builder, c Config) stream.Stream {
	r, positions := c.ratios(), c.positionRows()
	switch c.Stream {
	case StreamVector:
		return stream.NewVector(b, stream.VectorConfig{
			Layers: c.Layers, D: c.DModel, HeadsWidth: c.HeadCount() * c.HeadDim(), Vocab: c.Vocab, Positions: positions, Norm: c.norm(), Init: c.init(), Bias: c.Bias,
			InputScale: r.input, WidthRatio: r.width, HeadsRatio: r.heads, Dropout: c.Dropout})
	default: // StreamMatrix: Validate lets no other name through
		return stream.NewMatrix(b, stream.MatrixConfig{
			Layers: c.Layers, Dk: c.Dk, Dv: c.Dv, Rank: c.Rank, Vocab: c.Vocab, Positions: positions, Norm: c.norm(), Init: c.init(),
			InputScale: r.input, KeyRatio: r.keys, RankRatio: r.rank, Dropout: c.Dropout})
	}
}
