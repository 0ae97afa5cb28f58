package stream

import (
	"cmp"
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// HieraggConfig describes a hierarchical aggregation stream.
type HieraggConfig struct {
	Vectors       // Layers must be a multiple of HieraggGroup
	Inner    int  `yaml:"inner" default:"d_model" from:"model.stream.d_model" max:"1048576" help:"hidden width of the aggregate"`
	Separate bool `yaml:"separate_aggregates" help:"an aggregate for each pair of blocks, the first without z, instead of one for all"`
}

// Name returns "hieragg".
func (HieraggConfig) Name() string { return "hieragg" }

// Card describes hierarchical aggregation.
func (HieraggConfig) Card() layers.Card {
	return layers.Card{
		Title:    "Hierarchical aggregation",
		Equation: "h <- Norm(sigmoid([x; y; z] W1) W2 + x + y + z)          after every second block",
		Source:   "Dou et al. 2018, EMNLP",
		Use: "A network joins the outputs x and y of two blocks with their input z and replaces the stream. Made for translation, where it brings low " +
			"layers' features to the output. Layers come in pairs. One aggregate is shared by all pairs, which matches the size that the RMT paper prints, not " +
			"the source: see hieragg-dou.",
	}
}

// Defaults sets a hidden layer as wide as the stream.
func (c HieraggConfig) Defaults() Design {
	c.Inner = orDefault(c.Inner, c.D)
	return c
}

// Check returns an error unless the blocks form whole groups.
func (c HieraggConfig) Check() error {
	err := cmp.Or(c.Vectors.Check(), layers.CheckSize("inner", c.Inner))
	if err == nil && c.Layers%hieraggGroup != 0 {
		loop := ""
		if c.Loop.Further() > 0 {
			loop = " with those that a loop repeats"
		}
		err = layers.Setting("layers", "want an even number for the %s stream, which aggregates pairs of blocks, got %d%s", c.Name(), c.Layers, loop)
	}
	return err
}

// Cost counts one set of parameters, which all groups of blocks share, or with separate aggregates
// a set for each; the first of these joins two inputs instead of three. The last one's norm is the
// final norm.
func (c HieraggConfig) Cost() layers.Cost {
	total := c.sitesCost()
	if !c.Separate {
		a := c.aggregateCost(3)
		return total.Plus(a.Times(float64(c.Layers / hieraggGroup)).WithParameters(a))
	}
	for _, end := range c.groupEnds() {
		total = total.Plus(c.aggregateCost(c.inputs(end)).WithParameters(layers.Cost{}))
	}
	return total
}

// DepthParameters counts separate aggregates. A block may have one only because it ends a group in
// a later pass.
func (c HieraggConfig) DepthParameters() func(depth int) (shared, own float64) {
	if !c.Separate {
		return nil
	}
	return func(depth int) (shared, own float64) {
		if depth%hieraggGroup != hieraggGroup-1 {
			return 0, 0
		}
		return c.aggregateCost(c.inputs(depth)).Parameters, 0
	}
}

// groupEnds lists the last block of each group.
func (c HieraggConfig) groupEnds() (ends []int) {
	for block := hieraggGroup - 1; block < c.Layers; block += hieraggGroup {
		ends = append(ends, block)
	}
	return ends
}

// inputs returns how many inputs an aggregate joins: x, y and z, or in the first of several only x
// and y, because there is no earlier aggregate to read.
func (c HieraggConfig) inputs(end int) int {
	if c.Separate && c.Loop.Block(end) == c.Loop.Block(hieraggGroup-1) {
		return 2
	}
	return 3
}

// aggregateCost returns the cost of an aggregate that joins the given number of inputs. It keeps
// the joined inputs, the hidden layer and the sum before the norm.
func (c HieraggConfig) aggregateCost(joined int) layers.Cost {
	d, inner, inputs := float64(c.D), float64(c.Inner), float64(joined)
	a := layers.LinearCost(inputs*d, inner, c.Bias).Plus(layers.LinearCost(inner, d, c.Bias), c.Norm.Cost(d))
	a.Activations = (inputs+1)*d + inner
	return a
}

// New makes the parameters of a hierarchical aggregation stream.
func (c HieraggConfig) New(b *graph.Builder) Stream {
	if c.Layers%hieraggGroup != 0 {
		b.Fail(errors.Errorf("stream: hieragg: want a multiple of %d layers, the blocks of a group, got %d", hieraggGroup, c.Layers))
	}
	a := &hieragg{Vector: startVector(b, c.Vectors), config: c}
	a.addBlocks()
	if !c.Separate {
		a.aggregates = []aggregate{newAggregate(b, c, "aggregate", 3)}
	} else {
		for _, end := range c.groupEnds() {
			a.aggregates = append(a.aggregates, newAggregate(b, c, aggregateName(end), c.inputs(end)))
		}
	}
	a.Use(a)
	return a
}

// hieraggGroup is the number of blocks between two aggregates.
const hieraggGroup = 2

// hieragg is a vector stream with hierarchical aggregation (Dou et al. 2018, EMNLP, "Exploiting
// deep representations for neural machine translation"): after every group of two blocks, the
// stream is replaced by an aggregate of the group's input z and of the streams x and y after the
// group's first and second block,
//
//	h <- AGG(x, y, z) = Norm(sigmoid([x; y; z] W1) W2 + x + y + z)
//
// All groups share one aggregate, "aggregate.w1" [3D, Inner], "aggregate.w2" [Inner, D]
// and "aggregate.norm". With Separate each has its own, "blocks.1.aggregate.w1" and so on, and
// the first, which has no earlier aggregate to read, joins x and y alone (w1 [2D, Inner]),
// as the source does. The last one's norm is the final norm. W2 starts small, as the
// sigmoid's mean is positive. The state's More are z and, after the group's first block, x.
type hieragg struct {
	*Vector    // without a final norm
	config     HieraggConfig
	aggregates []aggregate // one for each group, or one for all
}

// aggregate holds the parameters of one AGG.
type aggregate struct {
	inputs int            // 3: x, y, z; 2: x, y
	w1, w2 *gorgonia.Node // [inputs*D, Inner], [Inner, D]
	b1, b2 *gorgonia.Node // [Inner], [D], or nil
	norm   *layers.Norm
}

// aggregateName returns the prefix of the aggregate after a block, "blocks.1.aggregate".
func aggregateName(block int) string { return blockName(block) + ".aggregate" }

func newAggregate(b *graph.Builder, c HieraggConfig, name string, inputs int) aggregate {
	in := inputs * c.D
	g := aggregate{
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

// Embed makes the vector stream's embedding, which is the first group's input.
func (a *hieragg) Embed(t Tokens) State {
	h := a.embed(t) // [T, D]
	return VectorState{h, gorgonia.Nodes{h}}
}

// EndBlock keeps the stream after a group's first block, and aggregates after its last.
func (a *hieragg) EndBlock(s State, block int) State {
	state := s.(VectorState)
	z := state.More[0]
	if block%hieraggGroup == 0 {
		return VectorState{state.H, gorgonia.Nodes{z, state.H}}
	}
	x, y, name := state.More[1], state.H, aggregateName(block)
	h := a.b.Hook(name, a.aggregate(a.aggregateOf(block), name, gorgonia.Nodes{x, y, z}), "feature")
	return VectorState{h, gorgonia.Nodes{h}}
}

// aggregateOf returns the aggregate after a block's group.
func (a *hieragg) aggregateOf(block int) aggregate {
	return a.aggregates[min(block/hieraggGroup, len(a.aggregates)-1)]
}

// aggregate computes AGG [T, D] of x, y and z, or of x and y. The names of its activations begin
// with name.
func (a *hieragg) aggregate(g aggregate, name string, inputs gorgonia.Nodes) *gorgonia.Node {
	inputs = inputs[:g.inputs]
	inner := elementwise.Sigmoid(a.b, mapped(a.b, shape.Concat(a.b, inputs...), g.w1, g.b1)) // [T, Inner]
	mixed := mapped(a.b, a.b.Hook(name+".hidden", inner, "neuron"), g.w2, g.b2)              // [T, D]
	terms := append(gorgonia.Nodes{elementwise.Dropout(a.b, mixed, a.c.Dropout)}, inputs...)
	return g.norm.Apply(a.b.Hook(name+sumSuffix, a.b.Add(terms...), "feature")) // [T, D]
}

// Form describes a vector stream within a group; the aggregate does not belong to the form.
func (a *hieragg) Form(at Site) Form {
	f, g := plainForm(at, "Dou et al. 2018, EMNLP (hierarchical aggregation)"), a.aggregateOf(at.Block)
	f.Beyond = []Term{{fmt.Sprintf("after every %d blocks AGG(x, y, z) = Norm(sigmoid([x; y; z] W1) W2 + x + y + z) replaces h", hieraggGroup),
		nodeNames(g.w1, g.w2, g.b1, g.b2, g.norm.Gain())}}
	return f
}

// Writers lists a vector stream's writers and the aggregates' hidden neurons.
func (a *hieragg) Writers() []Writer {
	writers := a.Vector.Writers()
	for _, block := range a.config.groupEnds() {
		g, name := a.aggregateOf(block), aggregateName(block)
		writers = append(writers, Writer{Name: name, Part: "neuron", Parts: a.config.Inner, Activation: name + ".hidden", Weight: g.w2.Name(),
			Bias: nodeName(g.b2), Reads: a.config.Inner, Source: name})
	}
	return writers
}

// Output names the last aggregate.
func (a *hieragg) Output() string { return aggregateName(a.c.Layers - 1) }

// Carry keeps h and z and, inside a group after its first block, x, side by side. After the second
// block h becomes x + h + z, the aggregate's own term is added, and its norm at the scale of this
// run makes it the next h and z. A term of the group's input is therefore counted three times.
// Without a run an aggregate takes only h, which contains x and z.
func (a *hieragg) Carry(f *Frozen) {
	d, rows := a.c.D, 2
	a.CarrySites(f, copies(2, d), func(at Site) {
		a.carrySite(f, at, rows)
		if at.Sublayer == Attention {
			return
		}
		if at.Block%hieraggGroup == 0 {
			rows = 3
			f.Step(linear.Stack{linear.Identity(2 * d), linear.Row(2, 0, d)}) // h, z, x
			return
		}
		rows = 2
		a.carryAggregate(f, at.Block)
		f.Step(copies(2, d))
	})
	a.CarryEnd(f, linear.Row(rows, 0, d))
}

// carryAggregate adds the sum and the norm after a group, after which only h is left.
func (a *hieragg) carryAggregate(f *Frozen, block int) {
	g, name := a.aggregateOf(block), aggregateName(block)
	join := []float64{1, indicator(g.inputs == 3), 1} // factors of h, z and x
	if f.record == nil {
		join = []float64{1, 0, 0}
	}
	f.Step(linear.Rows(a.c.D, join))
	f.Write(name, linear.Identity(a.c.D))
	a.CarryNorm(f, g.norm, name+sumSuffix)
}
