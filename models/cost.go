package models

import (
	"math"
	"slices"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Cost counts a model's parameters, FLOPs and activations in closed form; tests compare it with the
// built graph.
type Cost struct {
	Parameters int `json:"parameters"` // all of them
	Embedding  int `json:"embedding"`  // embedding, positions and unembedding tables
	// ForwardFLOPs counts the matrix products for one token in a row of Seq tokens, with 2 FLOPs
	// per multiply-add. Causal attention counts its visible half, gathers count 0, and the loss is
	// included.
	ForwardFLOPs int `json:"forward_flops"`
	StreamSize   int `json:"stream_size"` // entries of a token's residual stream
	// ActivationBytes counts the float32 activations that training keeps for the backward pass, for
	// one token, without recomputation.
	ActivationBytes int `json:"activation_bytes"`
}

// TrainFLOPs returns a token's forward and backward FLOPs; the backward pass counts twice the
// forward pass.
func (c Cost) TrainFLOPs() int { return 3 * c.ForwardFLOPs }

// float32Bytes is the size of an activation entry.
const float32Bytes = 4

// Cost returns the model's cost: the sum of its parts' costs.
func (s Spec) Cost() Cost {
	var total layers.Cost
	for _, part := range s.Parts() {
		total = total.Plus(part.Cost)
	}
	return Cost{
		Parameters: whole(total.Parameters), Embedding: whole(total.Tables), ForwardFLOPs: whole(total.FLOPs),
		StreamSize: s.StreamSize(), ActivationBytes: whole(float32Bytes * total.Activations)}
}

// whole returns a count as an int, or the largest int if it is larger.
func whole(n float64) int {
	if n >= math.MaxInt {
		return math.MaxInt
	}
	return int(n)
}

// Part is one part of a model.
type Part struct {
	Name string
	Cost layers.Cost // in all blocks
}

// The names of the parts other than sublayers, which have their own names. The cost of reading
// and writing the stream belongs to the stream.
const (
	PartStream      = "stream"
	PartUnembedding = "unembedding"
)

// Parts returns what each part of the model takes.
func (s Spec) Parts() []Part {
	parts := []Part{{PartStream, s.streamCost().Plus(s.writesCost())}}
	for _, sublayer := range s.shape.Sublayers {
		parts = append(parts, Part{string(sublayer), s.blocksCost(sublayer)})
	}
	return append(parts, Part{PartUnembedding, layers.UnembeddingCost(float64(s.Features()), float64(s.Vocab), s.TieEmbeddings)})
}

// blocksCost returns what a sublayer computes in all blocks between reading and writing the stream.
func (s Spec) blocksCost(sublayer stream.Sublayer) layers.Cost {
	once, depth := float64(s.Layers), float64(s.Depth())
	if sublayer == stream.Attention {
		return s.attentionCost().Plus(s.valueEmbeddingsCost())
	}
	each := s.FeedForward.Cost(s.feedForwardSizes())
	return each.Times(depth).WithParameters(each.Times(once))
}

// attentionCost returns the cost of attention in all layers. It counts every layer as if it
// were the first one that is not an exception (AttentionDesign.Exceptions), then adds what
// differs in the exceptions and in the first pass of the first layer.
func (s Spec) attentionCost() layers.Cost {
	values, kind := s.valueResidual(), s.Attention.Design()
	of := func(layer int, first bool) layers.Cost {
		c := s.attentionConfig(0, values)
		c.Layer, c.First = layer, first
		return kind.Cost(c, float64(s.Seq))
	}
	alike := of(s.alikeLayer(), false)
	total := alike.Times(float64(s.Depth())).WithParameters(alike.Times(float64(s.Layers)))
	for _, layer := range kind.Exceptions() {
		more := of(layer, false).Plus(alike.Times(-1))
		total = total.Plus(more.Times(float64(s.loop().Passes(layer))).WithParameters(more))
	}
	first := of(0, true).Plus(of(0, false).Times(-1))
	if s.loop().Repeats(0) { // the first pass has every parameter that later ones have
		first = first.WithParameters(layers.Cost{})
	}
	return total.Plus(first)
}

// valueEmbeddingsCost returns the cost of the attentions' value embeddings.
func (s Spec) valueEmbeddingsCost() (total layers.Cost) {
	sizes, ok := s.valueEmbedding(s.Layers - 1)
	if !ok {
		return total
	}
	of := func(begin, end int) float64 { return float64((s.Layers+1-begin)/2 - (s.Layers+1-end)/2) } // blocks from begin to end
	each, loop := sizes.Cost(), s.loop()
	once := of(0, s.Layers)
	again := float64(max(0, loop.Times-1)) * of(loop.Begin, loop.End)
	return each.Times(once + again).WithParameters(each.Times(once))
}

// alikeLayer returns the first layer that is not an exception of the attention.
func (s Spec) alikeLayer() (layer int) {
	for slices.Contains(s.Attention.Design().Exceptions(), layer) {
		layer++
	}
	return layer
}

// writesCost returns the cost of the section writes, which changes what sublayers write.
func (s Spec) writesCost() (total layers.Cost) {
	if s.Writes == nil {
		return total
	}
	for _, sublayer := range s.shape.Sublayers {
		each := s.Writes.Cost(sublayer, s.writeSizes())
		total = total.Plus(each.Times(float64(s.Depth())).WithParameters(each.Times(float64(s.Layers))))
	}
	return total
}

// streamCost returns the cost of the stream, whose parameters the passes of a loop share.
func (s Spec) streamCost() layers.Cost {
	of := func(d stream.Design) layers.Cost { return d.Cost().Plus(stream.OptionsCost(d)) }
	total := of(s.design).WithParameters(of(s.designed(s.Layers)))
	looped, ok := s.design.(stream.LoopedDesign)
	if !ok || looped.DepthParameters() == nil {
		return total
	}
	most, at := map[int]float64{}, looped.DepthParameters()
	for depth := range s.Depth() {
		block := s.loop().Block(depth)
		shared, own := at(depth)
		total.Parameters += own + max(0, shared-most[block])
		most[block] = max(most[block], shared)
	}
	return total
}
