package models

import (
	"reflect"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Streams are the names of the designs.
func Streams() []string {
	var names []string
	for _, d := range Designs() {
		names = append(names, d.Name())
	}
	return names
}

// scaledStreams are those that muP is known for.
func scaledStreams() []string {
	var names []string
	for _, d := range Designs() {
		if _, ok := d.(stream.Scaled); ok {
			names = append(names, d.Name())
		}
	}
	return names
}

// Design returns the settings of the config's stream, from which it is made, with the
// stream's defaults filled in; nil if the config names no stream of Designs. What it gives
// is of use for a config that Validate lets through.
func (c Config) Design() stream.Design {
	e, ok := entries()[c.Stream]
	if !ok {
		return nil
	}
	return altered(e.of(c), func(v reflect.Value) { v.FieldByName("Common").Set(reflect.ValueOf(c.common())) })
}

// Shape is that of the config's stream, of zeros if there is none.
func (c Config) Shape() stream.Shape {
	e, ok := entries()[c.Stream]
	if !ok {
		return stream.Shape{}
	}
	return e.of(c).Shape()
}

// HeadDim is the size of one attention head.
func (c Config) HeadDim() int { return c.Shape().HeadDim }

// HeadCount is the number of attention heads.
func (c Config) HeadCount() int { return c.Shape().Heads }

// Width is the number of features that blocks work on: R*Dv, or d_model.
func (c Config) Width() int { return c.Shape().Width }

// StreamSize is the number of entries of a token's residual stream: Dk*Dv, d_model, n
// streams of it, or n slots of d_model/m. The depth-wise LSTM's cell, and what the next
// aggregate of hierarchical aggregation needs, are not counted.
func (c Config) StreamSize() int { return c.Shape().Size }

// common is what the config says to every stream.
func (c Config) common() stream.Common {
	return stream.Common{
		Layers: c.Layers, Vocab: c.Vocab, Positions: c.positionRows(), Norm: c.norm(), Init: c.init(), Bias: c.Bias, Tied: c.TieEmbeddings,
		ExactGelu: c.Gelu == GeluExact, InputScale: c.inputScale(), Dropout: c.Dropout, Ratios: c.ratios()}
}

// init returns the initialisation that the config names.
func (c Config) init() layers.Init {
	std := c.InitStd
	if c.Init == InitLeCun {
		std = 1
	}
	return layers.Init{Std: std, Embedding: c.EmbeddingStd, Layers: c.Layers}
}

func (c Config) norm() layers.NormConfig {
	return layers.NormConfig{RMS: c.Norm == NormRMS, Eps: c.NormEps, Bias: c.Bias}
}

// withDefaults is the config with the defaults of its stream's own settings.
func (c Config) withDefaults() Config {
	if e, ok := entries()[c.Stream]; ok {
		return e.into(c, e.of(c))
	}
	return c
}
