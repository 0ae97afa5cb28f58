package stream

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// HieraggConfig describes a hierarchical aggregation stream.
type HieraggConfig struct {
	Vectors       // Layers is a multiple of HieraggGroup
	Inner    int  `yaml:"inner" default:"d_model" from:"model.stream.d_model" max:"1048576" help:"hidden width of the aggregate"`
	Separate bool `yaml:"separate_aggregates" help:"an aggregate for each pair of blocks, the first without z, instead of one for all"`
}

// Name is "hieragg".
func (HieraggConfig) Name() string { return "hieragg" }

// Card describes hierarchical aggregation.
func (HieraggConfig) Card() layers.Card {
	return layers.Card{
		Title:    "Hierarchical aggregation",
		Equation: "h <- Norm(sigmoid([x; y; z] W1) W2 + x + y + z)          after every second block",
		Source:   "Dou et al. 2018, EMNLP",
		Use:      "A network joins the outputs x and y of two blocks with their input z and replaces the stream. Made for translation, where it brings low layers' features to the output. Layers come in pairs. One aggregate is shared by all pairs, which matches the size that the RMT paper prints, not the source: see hieragg-dou.",
	}
}

// Defaults is a hidden layer as wide as the stream.
func (c HieraggConfig) Defaults() Design {
	c.Inner = orDefault(c.Inner, c.D)
	return c
}

// Check wants whole groups of blocks.
func (c HieraggConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	if err := layers.CheckSizes(layers.Size{Key: "inner", Value: c.Inner}); err != nil {
		return err
	}
	if c.Layers%hieraggGroup != 0 {
		loop := ""
		if c.Loop.Further() > 0 {
			loop = " with those that a loop repeats"
		}
		return layers.Setting("layers", "want an even number for the %s stream, which aggregates pairs of blocks, got %d%s", c.Name(), c.Layers, loop)
	}
	return nil
}

// Shape is that of one vector a token.
func (c HieraggConfig) Shape() Shape { return c.shape(c.D) }

// Cost has one set of parameters, used by each group of blocks, or one each, of which the
// first has two inputs instead of three. The last one's norm is the final norm.
func (c HieraggConfig) Cost() layers.Cost {
	groups := float64(c.Layers / hieraggGroup)
	all := c.aggregateCost(3).Times(groups)
	if c.Separate {
		first := c.firstAggregates()
		all = c.aggregateCost(2).Times(first).Plus(c.aggregateCost(3).Times(groups - first))
	} else {
		all.Parameters = c.aggregateCost(3).Parameters
	}
	return c.cost().Plus(all)
}

// firstAggregates is how often tokens pass the first of separate aggregates.
func (c HieraggConfig) firstAggregates() (count float64) {
	if c.Loop.Further() == 0 {
		return 1
	}
	for _, end := range c.groupEnds() {
		count += indicator(c.inputs(end) == 2)
	}
	return count
}

// PassParameters are those of separate aggregates at blocks that end a group in a later pass alone.
func (c HieraggConfig) PassParameters() (count float64) {
	if !c.Separate {
		return 0
	}
	own, once := map[int]bool{}, c
	once.Layers -= c.Loop.Further()
	for _, end := range c.groupEnds() {
		if block := c.Loop.Block(end); !own[block] {
			own[block], count = true, count+c.aggregateCost(c.inputs(end)).Parameters
		}
	}
	for _, end := range once.groupEnds() {
		count -= c.aggregateCost(c.inputs(end)).Parameters
	}
	return count
}

// groupEnds are the last blocks of groups.
func (c HieraggConfig) groupEnds() (ends []int) {
	for block := hieraggGroup - 1; block < c.Layers; block += hieraggGroup {
		ends = append(ends, block)
	}
	return ends
}

// inputs are what an aggregate joins: x, y and z, or x and y alone in the first of several, which has no
// earlier one to read.
func (c HieraggConfig) inputs(end int) int {
	if c.Separate && c.Loop.Block(end) == c.Loop.Block(hieraggGroup-1) {
		return 2
	}
	return 3
}

// aggregateCost is that of an aggregate of as many inputs: it keeps them joined, the hidden
// layer, and the sum before the norm.
func (c HieraggConfig) aggregateCost(joined int) layers.Cost {
	d, inner, inputs := float64(c.D), float64(c.Inner), float64(joined)
	a := layers.LinearCost(inputs*d, inner, c.Bias).Plus(layers.LinearCost(inner, d, c.Bias)).Plus(c.Norm.Cost(d))
	a.Activations = (inputs+1)*d + inner
	return a
}

// New is newHieragg.
func (c HieraggConfig) New(b *graph.Builder) Stream { return newHieragg(b, c) }

// hieraggGroup is the number of blocks between two aggregates.
const hieraggGroup = 2

// hieragg is a vector stream with hierarchical aggregation (Dou et al. 2018, EMNLP,
// "Exploiting deep representations for neural machine translation"): after every group
// of two blocks an aggregate of the group's input z and of the stream x and y after its
// first and its second block replaces the stream,
//
//	h <- AGG(x, y, z) = Norm(sigmoid([x; y; z] W1) W2 + x + y + z)
//
// All groups share one aggregate, "aggregate.w1" [3D, Inner], "aggregate.w2" [Inner, D]
// and "aggregate.norm". With Separate each has its own, "blocks.1.aggregate.w1" and so on, and
// the first, which has no earlier aggregate to read, joins x and y alone (w1 [2D, Inner]),
// as the source does. The last one's norm is the final norm. W2 starts small, as the
// sigmoid's mean is positive.
type hieragg struct {
	*Vector    // without a final norm
	settings   HieraggConfig
	aggregates []aggregate // a group's each, or one for all
}

// aggregate is one AGG's parameters.
type aggregate struct {
	name   string
	inputs int            // 3: x, y, z; 2: x, y
	w1, w2 *gorgonia.Node // [inputs*D, Inner], [Inner, D]
	b1, b2 *gorgonia.Node // [Inner], [D], or nil
	norm   *layers.Norm
}

// hieraggState is the stream h [T, D] and what else the next aggregate needs.
type hieraggState struct {
	VectorState
	Input *gorgonia.Node // z [T, D], the group's input
	First *gorgonia.Node // x [T, D], h after the group's first block; nil inside that block
}

// Nodes returns h, z and, if it is there, x.
func (s hieraggState) Nodes() gorgonia.Nodes {
	nodes := gorgonia.Nodes{s.H, s.Input}
	if s.First != nil {
		nodes = append(nodes, s.First)
	}
	return nodes
}

// WithVector is the state of another h.
func (s hieraggState) WithVector(h *gorgonia.Node) State {
	s.H = h
	return s
}

// newHieragg makes the parameters of a hierarchical aggregation stream.
func newHieragg(b *graph.Builder, c HieraggConfig) *hieragg {
	if c.Layers%hieraggGroup != 0 {
		b.Fail(errors.Errorf("stream: hieragg: want a multiple of %d layers, the blocks of a group, got %d", hieraggGroup, c.Layers))
	}
	a := &hieragg{Vector: newVector(b, c.Vectors), settings: c}
	if !c.Separate {
		a.aggregates = []aggregate{newAggregate(b, c, "aggregate", 3)}
		return a
	}
	for _, end := range c.groupEnds() {
		a.aggregates = append(a.aggregates, newAggregate(b, c, aggregateName(end), c.inputs(end)))
	}
	return a
}

// aggregateName is "blocks.1.aggregate", of the group that ends with a block.
func aggregateName(block int) string { return fmt.Sprintf("blocks.%d.aggregate", block) }

func newAggregate(b *graph.Builder, c HieraggConfig, name string, inputs int) aggregate {
	in := inputs * c.D
	g := aggregate{
		name:   name,
		inputs: inputs,
		w1:     b.Param(c.Init.Hidden(name+".w1", in, c.WidthRatio, in, c.Inner)),
		w2:     b.Param(c.Init.Output(name+".w2", c.Inner, c.InnerRatio, c.Inner, c.D)),
		norm:   layers.NewNorm(b, name+".norm", c.Norm, c.D),
	}
	if c.Bias {
		g.b1 = b.Param(layers.Zero(name+".w1_bias", c.Inner))
		g.b2 = b.Param(layers.Zero(name+".w2_bias", c.D))
	}
	return g
}

// Embed is the vector stream's; the result is the first group's input.
func (a *hieragg) Embed(t Tokens) State {
	h := a.embed(t) // [T, D]
	return hieraggState{VectorState: VectorState{h}, Input: h}
}

// EndBlock keeps the stream after a group's first block and aggregates after its last.
func (a *hieragg) EndBlock(s State, block int) State {
	state := s.(hieraggState)
	if block%hieraggGroup == 0 {
		state.First = state.H
		return state
	}
	inputs := gorgonia.Nodes{state.First, state.H, state.Input}
	h := a.b.Hook(aggregateName(block), a.aggregate(a.aggregateOf(block), aggregateName(block), inputs), "feature")
	return hieraggState{VectorState: VectorState{h}, Input: h}
}

// aggregateOf is the aggregate after a block's group.
func (a *hieragg) aggregateOf(block int) aggregate {
	return a.aggregates[min(block/hieraggGroup, len(a.aggregates)-1)]
}

// aggregate is AGG [T, D] of x, y and z, or of x and y; name is that of its activations.
func (a *hieragg) aggregate(g aggregate, name string, inputs gorgonia.Nodes) *gorgonia.Node {
	inputs = inputs[:g.inputs]
	joined := shape.Concat(a.b, inputs...)                                                       // [T, 3D]
	inner := elementwise.Sigmoid(a.b, linear.Map(a.b, joined, g.w1, linear.Options{Bias: g.b1})) // [T, Inner]
	inner = a.b.Hook(name+".hidden", inner, "neuron")
	mixed := linear.Map(a.b, inner, g.w2, linear.Options{Bias: g.b2}) // [T, D]
	terms := append(gorgonia.Nodes{elementwise.Dropout(a.b, mixed, a.c.Dropout)}, inputs...)
	return g.norm.Apply(a.b.Hook(name+sumSuffix, a.b.Add(terms...), "feature")) // [T, D]
}

// Features is the stream: the last aggregate has normalised it.
func (a *hieragg) Features(s State) *gorgonia.Node { return s.(hieraggState).H }

// Form is a vector stream's within a group; the aggregate is not of it.
func (a *hieragg) Form(at Site) Form {
	f := plainForm(at, "Dou et al. 2018, EMNLP (hierarchical aggregation)")
	g := a.aggregateOf(at.Block)
	f.Beyond = []Term{{
		Text:       fmt.Sprintf("after every %d blocks AGG(x, y, z) = Norm(sigmoid([x; y; z] W1) W2 + x + y + z) replaces h", hieraggGroup),
		Parameters: append(nodeNames(g.w1, g.w2, g.b1, g.b2), g.norm.Gain().Name()),
	}}
	return f
}
