package models

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// newStream is the list of streams: a new one adds its case here.
func newStream(b *graph.Builder, c Config) stream.Stream {
	switch c.Stream {
	case StreamVector:
		return stream.NewVector(b, c.vector())
	case StreamHyper:
		return stream.NewHyper(b, stream.HyperConfig{VectorConfig: c.vector(), N: c.N, Dynamic: c.Dynamic})
	case StreamMHC:
		return stream.NewMHC(b, stream.MHCConfig{VectorConfig: c.vector(), N: c.N, Iterations: c.SinkhornIterations})
	case StreamMHCLite:
		return stream.NewMHCLite(b, stream.MHCLiteConfig{VectorConfig: c.vector(), N: c.N})
	case StreamVWN:
		return stream.NewVWN(b, stream.VWNConfig{VectorConfig: c.vector(), N: c.N, M: c.M, Expand: c.ExpandEmbedding})
	case StreamHighway:
		return stream.NewHighway(b, c.vector())
	case StreamHierAgg:
		return stream.NewHieragg(b, stream.HieraggConfig{VectorConfig: c.vector(), Inner: c.Inner, InnerRatio: 1, Separate: c.SeparateAggregates})
	case StreamDWLSTM:
		return stream.NewDWLSTM(b, stream.DWLSTMConfig{VectorConfig: c.vector(), Inner: lstmInner * c.DModel, InnerRatio: 1, ExactGelu: c.Gelu == GeluExact})
	default: // StreamMatrix: Validate lets no other name through
		return stream.NewMatrix(b, c.matrix())
	}
}

// lstmInner is the width of the depth-wise LSTM's hidden layer, of d_model.
const lstmInner = 4

// vector is what all streams of vectors are made of.
func (c Config) vector() stream.VectorConfig {
	r := c.ratios()
	return stream.VectorConfig{
		Layers: c.Layers, D: c.DModel, HeadsWidth: c.HeadCount() * c.HeadDim(), Vocab: c.Vocab, Positions: c.positionRows(), Norm: c.norm(), Init: c.init(), Bias: c.Bias,
		InputScale: r.input, WidthRatio: r.width, HeadsRatio: r.heads, Dropout: c.Dropout}
}

func (c Config) matrix() stream.MatrixConfig {
	r := c.ratios()
	return stream.MatrixConfig{
		Layers: c.Layers, Dk: c.Dk, Dv: c.Dv, Rank: c.Rank, Vocab: c.Vocab, Positions: c.positionRows(), Norm: c.norm(), Init: c.init(),
		InputScale: r.input, KeyRatio: r.keys, RankRatio: r.rank, Dropout: c.Dropout}
}
