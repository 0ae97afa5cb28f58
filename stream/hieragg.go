package stream

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// HieraggConfig describes a hierarchical aggregation stream.
type HieraggConfig struct {
	VectorConfig         // Layers is a multiple of HieraggGroup
	Inner        int     // width of the aggregate's hidden layer
	InnerRatio   float64 // muP: Inner over its base
}

// HieraggGroup is the number of blocks between two aggregates.
const HieraggGroup = 2

// Hieragg is a vector stream with hierarchical aggregation (Dou et al. 2018, EMNLP,
// "Exploiting deep representations for neural machine translation"): behind every group
// of two blocks an aggregate of the group's input z and of the stream x and y after its
// first and its second block replaces the stream,
//
//	h <- AGG(x, y, z) = Norm(sigmoid([x; y; z] W1) W2 + x + y + z)
//
// All groups share one aggregate, "aggregate.w1" [3D, Inner], "aggregate.w2" [Inner, D]
// and "aggregate.norm". The last one's norm is the final norm. W2 starts small, as the
// sigmoid's mean is positive.
type Hieragg struct {
	vector *Vector
	b      *graph.Builder
	w1, w2 *gorgonia.Node // [3D, Inner], [Inner, D]
	b1, b2 *gorgonia.Node // [Inner], [D], or nil
	norm   *layers.Norm
}

// HieraggState is the stream h [T, D] and what the next aggregate needs beside it.
type HieraggState struct {
	VectorState
	Input *gorgonia.Node // z [T, D], the group's input
	First *gorgonia.Node // x [T, D], h after the group's first block; nil inside that block
}

// Nodes returns h, z and, if it is there, x.
func (s HieraggState) Nodes() gorgonia.Nodes {
	nodes := gorgonia.Nodes{s.H, s.Input}
	if s.First != nil {
		nodes = append(nodes, s.First)
	}
	return nodes
}

// NewHieragg makes the parameters of a hierarchical aggregation stream.
func NewHieragg(b *graph.Builder, c HieraggConfig) *Hieragg {
	if c.Layers%HieraggGroup != 0 {
		b.Fail(errors.Errorf("stream: hieragg: want a multiple of %d layers, the blocks of a group, got %d", HieraggGroup, c.Layers))
	}
	a := &Hieragg{
		vector: newVector(b, c.VectorConfig), b: b,
		w1:   b.Param(c.Init.Hidden("aggregate.w1", 3*c.D, c.WidthRatio, 3*c.D, c.Inner)),
		w2:   b.Param(c.Init.Output("aggregate.w2", c.Inner, c.InnerRatio, c.Inner, c.D)),
		norm: layers.NewNorm(b, "aggregate.norm", c.Norm, c.D),
	}
	if c.Bias {
		a.b1 = b.Param(layers.Zero("aggregate.w1_bias", c.Inner))
		a.b2 = b.Param(layers.Zero("aggregate.w2_bias", c.D))
	}
	return a
}

// Embed is the vector stream's; the result is the first group's input.
func (a *Hieragg) Embed(t Tokens) State {
	h := a.vector.embed(t) // [T, D]
	return HieraggState{VectorState: VectorState{h}, Input: h}
}

// Sites are attention and feed-forward.
func (a *Hieragg) Sites(block int) []Site { return twoSites(block) }

// ReadHeads is Norm, then W_QKV.
func (a *Hieragg) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	return a.vector.ReadHeads(s.(HieraggState).VectorState, at)
}

// WriteHeads adds W_O o.
func (a *Hieragg) WriteHeads(s State, at Site, link Link, o *gorgonia.Node) State {
	state := s.(HieraggState)
	state.VectorState = a.vector.WriteHeads(state.VectorState, at, link, o).(VectorState)
	return state
}

// ReadFeatures is Norm.
func (a *Hieragg) ReadFeatures(s State, at Site) (*gorgonia.Node, Link) {
	return a.vector.ReadFeatures(s.(HieraggState).VectorState, at)
}

// WriteFeatures adds y.
func (a *Hieragg) WriteFeatures(s State, at Site, link Link, y *gorgonia.Node) State {
	state := s.(HieraggState)
	state.VectorState = a.vector.WriteFeatures(state.VectorState, at, link, y).(VectorState)
	return state
}

// EndBlock keeps the stream after a group's first block and aggregates after its last.
func (a *Hieragg) EndBlock(s State, block int) State {
	state := s.(HieraggState)
	if block%HieraggGroup == 0 {
		state.First = state.H
		return state
	}
	h := a.b.Hook(fmt.Sprintf("blocks.%d.aggregate", block), a.aggregate(state.First, state.H, state.Input))
	return HieraggState{VectorState: VectorState{h}, Input: h}
}

// aggregate is AGG(x, y, z) [T, D].
func (a *Hieragg) aggregate(x, y, z *gorgonia.Node) *gorgonia.Node {
	joined := a.b.Concat(x, y, z)                                                   // [T, 3D]
	inner := a.b.Sigmoid(a.b.Linear(joined, a.w1, graph.LinearOptions{Bias: a.b1})) // [T, Inner]
	mixed := a.b.Linear(inner, a.w2, graph.LinearOptions{Bias: a.b2})               // [T, D]
	return a.norm.Forward(a.b.Add(a.b.Dropout(mixed, a.vector.c.Dropout), x, y, z)) // [T, D]
}

// Features is the stream: the last aggregate has normalised it.
func (a *Hieragg) Features(s State) *gorgonia.Node { return s.(HieraggState).H }

// Table is E [V, D].
func (a *Hieragg) Table() *gorgonia.Node { return a.vector.Table() }
