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
	made := map[laneKind]laneConstants{}
	s.copied = newCopied(b, c.Vectors, laneCount, func(at Site) mixer {
		kind, own := c.kind(at), s.lanes[at.Index]
		if _, ok := made[kind]; !ok {
			made[kind] = newLaneConstants(b, own, kind)
		}
		m := laneMixer{b: b, laneConstants: made[kind], write: own, carry: [laneCount]*gorgonia.Node{own, own}}
		if kind.parallel && at.Sublayer == Attention {
			m.carry[1] = s.lanes[at.Index+1]
		}
		return m
	})
	return s
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

// laneConstants are tables [2, 1, 4] of packed coefficients: those that are fixed, and where numbers of each lane go.
type laneConstants struct {
	fixed *gorgonia.Node
	at    [laneCount]*gorgonia.Node
}

func newLaneConstants(b *graph.Builder, near *gorgonia.Node, k laneKind) (made laneConstants) {
	p, carried := packing{laneCount, 1}, indicator(k.carries())
	numbers := func(down, carry, up func(i, j int) float64) *gorgonia.Node {
		return shape.Constant(b, near, p.values(down, carry, up), laneCount, 1, p.columns())
	}
	zero := func(int, int) float64 { return 0 }
	made.fixed = numbers(func(i, _ int) float64 { return indicator(i == k.lane()) }, func(i, j int) float64 { return (1 - carried) * indicator(i == j) }, zero)
	for lane := range laneCount {
		made.at[lane] = numbers(zero, func(i, j int) float64 { return carried * indicator(i == lane && j == lane) },
			func(_, i int) float64 { return indicator(i == lane) })
	}
	return made
}

// laneMixer makes coefficients of a site's numbers.
type laneMixer struct {
	b *graph.Builder
	laneConstants
	write *gorgonia.Node            // whose later entries write
	carry [laneCount]*gorgonia.Node // whose first entries carry each lane
}

func (m laneMixer) coefficients(*gorgonia.Node) *gorgonia.Node {
	b, c := m.b, m.fixed
	for lane := range laneCount {
		r, p := shape.Slice(b, m.carry[lane], 0, 1), min(1+lane, m.write.Shape()[1]-1)
		c = elementwise.AddScaled(b, c, m.at[lane], shape.Concat(b, r, r, r, shape.Slice(b, m.write, p, p+1)))
	}
	return shape.Reshape(b, c, packing{laneCount, 1}.columns()) // [2, 4]
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
