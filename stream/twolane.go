package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// TwoLaneConfig describes a stream of two lanes, one for attention and one for feed-forwards.
type TwoLaneConfig struct {
	Vectors
	Split    int  `yaml:"split" max:"4096" help:"number of blocks before the lanes part, which are alike until then; 0: none"`
	Parallel bool `yaml:"parallel" help:"feed-forwards read their lane as it is before the block's attention"`
}

// Name is "two-lane".
func (TwoLaneConfig) Name() string { return "two-lane" }

// Card describes two lanes.
func (TwoLaneConfig) Card() layers.Card {
	return layers.Card{
		Title: "Two lanes",
		Equation: "y = Attention(X_0);   X_i <- r X_i + p_i y;   z = FF(X_1);   X_i <- r' X_i + p'_i z          i = 0, 1\n" +
			"logits = Norm((X_0 + X_1) / 2) W_U          X_0 = X_1 = h before block split; r, p learned, of each site",
		Source: "modded-nanogpt, pull request 230; OpenAI's parameter-golf, pull request 1204",
		Use:    "Attention reads one stream, feed-forwards another, and each writes to both by a learned number: whether a layer needs what the other kind wrote is up to training. It starts as the transformer, bit for bit, for three numbers a site; the sources start r at sqrt(1.1), and split at block 7 of 11. What it costs is memory and its traffic: twice the stream. With parallel a block's sublayers do not wait for each other.",
	}
}

// Defaults changes nothing.
func (c TwoLaneConfig) Defaults() Design { return c }

// Check wants a split at a block that there is, or after all, and not inside a loop, whose blocks would have one
// lane on a pass and two on another.
func (c TwoLaneConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	blocks := c.Layers - c.Loop.Further()
	switch {
	case c.Split < 0 || c.Split > blocks:
		return layers.Setting("split", "want 0 to %d, the number of layers, got %d", blocks, c.Split)
	case c.Loop.Begin < c.Split && c.Loop.Repeats(c.Split):
		return layers.Setting("split", "want a block outside the loop, or its first, %d, got %d", c.Loop.Begin, c.Split)
	}
	return nil
}

// Shape is that of two rows.
func (c TwoLaneConfig) Shape() Shape { return c.shape(laneCount * c.D) }

// Plain is a vector stream: with numbers of 1 the lanes stay alike. Parallel sublayers are no transformer's.
func (c TwoLaneConfig) Plain() (Design, bool) {
	return VectorConfig{Vectors: c.Vectors}, !c.Parallel
}

// Cost has three numbers a site, before the split two; lanes that are alike are carried all the same.
func (c TwoLaneConfig) Cost() layers.Cost {
	total := c.copiedCost(laneCount, layers.Cost{Parameters: 3})
	total.Parameters -= 2 * float64(min(c.Split, c.Layers))
	return total
}

// New is newTwoLane.
func (c TwoLaneConfig) New(b *graph.Builder) Stream { return newTwoLane(b, c) }

// laneCount is the number of lanes.
const laneCount = 2

// twoLane is a stream of two lanes (modded-nanogpt, pull request 230; parameter-golf, pull request 1204): attention
// reads lane 0, feed-forwards lane 1, and
//
//	X_0 <- r X_0 + p_0 F,   X_1 <- r X_1 + p_1 F;   features = Norm((X_0 + X_1) / 2)
//
// where before block split p_0 = p_1. With parallel, of blocks from there on, a feed-forward reads lane 1 as it is
// before the block's attention, lane 0 is carried by attention's r once a block, and lane 1 by the feed-forward's. All
// start at 1, and do not decay. Lanes are rows that mix.Write writes.
//
// Parameters of a site: "lanes" [1, 3], r | p_0 | p_1; before split [1, 2], r | p.
type twoLane struct {
	copied
	c     TwoLaneConfig
	lanes gorgonia.Nodes // by Site.Index
}

// newTwoLane makes the parameters of a stream of two lanes.
func newTwoLane(b *graph.Builder, c TwoLaneConfig) *twoLane {
	s := &twoLane{c: c}
	for l := range c.Layers {
		for _, at := range twoSites(l) {
			width := 2 + int(indicator(c.parted(l)))
			s.lanes = append(s.lanes, b.Param(graph.ParamSpec{Name: at.Name() + ".lanes", Shape: []int{1, width}, Init: graph.Ones()}))
		}
	}
	all := s.coefficients(b)
	s.copied = newCopied(b, c.Vectors, laneCount, func(at Site) mixer { return laneMixer{b, all, at.Index} })
	return s
}

// coefficients are those of all sites side by side [2, 4 sites], made at once of all numbers.
func (s *twoLane) coefficients(b *graph.Builder) *gorgonia.Node {
	near, p := s.lanes[0], packing{laneCount, 1}
	size := p.columns() * len(s.lanes)
	var first, second gorgonia.Nodes // - | r | - | p_1, and - | - | r | p_0, where - is of no matter
	fixed, from := make([]float64, laneCount*size), [laneCount][]float64{make([]float64, laneCount*size), make([]float64, laneCount*size)}
	none := shape.Constant(b, near, []float64{0}, 1, 1)
	for l := range s.c.Layers {
		for _, at := range twoSites(l) {
			own, row, k := s.lanes[at.Index], p.columns()*at.Index, s.c.kind(at)
			first, second = append(first, none, own), append(second, none, none)
			if !s.c.parted(l) {
				first = append(first, shape.Slice(b, own, 1, 2))
			}
			if other := s.carries(at)[1]; other != own {
				second = append(second, shape.Slice(b, other, 0, 1), shape.Slice(b, own, 1, 2))
			} else {
				second = append(second, shape.Slice(b, own, 0, 2))
			}
			fixed[k.lane()*size+row] = 1
			carried := indicator(k.carries())
			fixed[row+1], fixed[size+row+2] = 1-carried, 1-carried
			from[0][row+1], from[0][size+row+3] = carried, 1
			from[1][size+row+2], from[1][row+3] = carried, 1
		}
	}
	table := func(values []float64) *gorgonia.Node { return shape.Constant(b, near, values, laneCount, 1, size) }
	c := elementwise.AddScaled(b, table(fixed), table(from[0]), shape.Concat(b, first...))
	return shape.Reshape(b, elementwise.AddScaled(b, c, table(from[1]), shape.Concat(b, second...)), size)
}

// carries are the sites' numbers whose r carries each lane.
func (s *twoLane) carries(at Site) [laneCount]*gorgonia.Node {
	own := s.lanes[at.Index]
	if s.c.kind(at).parallel && at.Sublayer == Attention {
		return [laneCount]*gorgonia.Node{own, s.lanes[at.Index+1]}
	}
	return [laneCount]*gorgonia.Node{own, own}
}

// parted tells whether the lanes have parted at a depth.
func (c TwoLaneConfig) parted(depth int) bool { return c.Loop.Block(depth) >= c.Split }

// laneKind is what coefficients of sites differ in besides their numbers.
type laneKind struct {
	sublayer Sublayer
	parallel bool
}

func (c TwoLaneConfig) kind(at Site) laneKind {
	return laneKind{at.Sublayer, c.Parallel && c.parted(at.Block)}
}

// lane is the one that a site reads.
func (k laneKind) lane() int { return int(indicator(k.sublayer == FeedForward)) }

// carries tells whether a site carries the lanes by its numbers.
func (k laneKind) carries() bool { return !k.parallel || k.sublayer == Attention }

// laneMixer takes a site's coefficients out of all.
type laneMixer struct {
	b     *graph.Builder
	all   *gorgonia.Node
	index int
}

func (m laneMixer) coefficients(*gorgonia.Node) *gorgonia.Node {
	columns := packing{laneCount, 1}.columns()
	return shape.Slice(m.b, m.all, m.index*columns, (m.index+1)*columns) // [2, 4]
}

// besideState is the stream between the sublayers of a parallel block, with what the second one reads.
type besideState struct {
	multiState
	Input *gorgonia.Node
}

// WriteHeads keeps the block's input for a parallel feed-forward.
func (s *twoLane) WriteHeads(state State, at Site, link Link, o *gorgonia.Node) State {
	after := s.copied.WriteHeads(state, at, link, o)
	if s.c.kind(at).parallel {
		return besideState{after.(multiState), state.(multiState).H}
	}
	return after
}

// ReadFeatures reads lane 1, or what it is before attention.
func (s *twoLane) ReadFeatures(state State, at Site) (*gorgonia.Node, Link) {
	if beside, ok := state.(besideState); ok {
		state = multiState{beside.Input}
	}
	return s.copied.ReadFeatures(state, at)
}

// WriteFeatures writes to both lanes.
func (s *twoLane) WriteFeatures(state State, at Site, link Link, y *gorgonia.Node) State {
	if beside, ok := state.(besideState); ok {
		state = beside.multiState
	}
	return s.copied.WriteFeatures(state, at, link, y)
}

// Features is the norm of the lanes' mean.
func (s *twoLane) Features(state State) *gorgonia.Node {
	b := s.multi.b
	return s.norm.Forward(elementwise.Scale(b, shape.SumCopies(b, state.(multiState).H), 1./laneCount))
}
