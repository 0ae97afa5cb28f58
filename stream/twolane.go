package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// TwoLaneConfig describes a stream of two lanes, one for attention and one for feed-forwards.
type TwoLaneConfig struct {
	Vectors
	Split    int  `yaml:"split" max:"4096" help:"number of blocks before the lanes part, which are alike until then; 0: none"`
	Parallel bool `yaml:"parallel" help:"feed-forwards read their lane as it is before the block's attention"`
}

// Name returns "two-lane".
func (TwoLaneConfig) Name() string { return "two-lane" }

// Card describes two lanes.
func (TwoLaneConfig) Card() layers.Card {
	return layers.Card{
		Title: "Two lanes",
		Equation: "y = Attention(X_0);   X_i <- r X_i + p_i y;   z = FF(X_1);   X_i <- r' X_i + p'_i z          i = 0, 1\n" +
			"logits = Norm((X_0 + X_1) / 2) W_U          X_0 = X_1 = h before block split; r, p learned, of each site",
		Source: "modded-nanogpt, pull request 230; OpenAI's parameter-golf, pull request 1204",
		Use: "Attention reads one stream, feed-forwards another, and each writes to both by a learned number: whether a layer needs what the other kind " +
			"wrote is up to training. It starts as the transformer, bit for bit, for three numbers a site; the sources start r at sqrt(1.1), and split at " +
			"block 7 of 11. What it costs is memory and its traffic: twice the stream. With parallel a block's sublayers do not wait for each other. The " +
			"speedrun that the lanes come from replaced them on 2026-03-06 (modded-nanogpt, pull request 241) by attention of late blocks that reads the " +
			"stream as it was after block 7, so that one stream is enough.",
	}
}

// Check returns an error unless the split is at an existing block or after all of them, and not
// inside a loop, whose blocks would have one lane on one pass and two on another.
func (c TwoLaneConfig) Check() error {
	if err := c.Vectors.Check(); err != nil {
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

// Shape returns the shape of a stream of two rows.
func (c TwoLaneConfig) Shape() Shape { return c.shape(laneCount * c.D) }

// Plain returns a vector stream unless sublayers are parallel: if all numbers are 1 the lanes stay
// equal.
func (c TwoLaneConfig) Plain() (Design, bool) {
	return c.plain(!c.Parallel)
}

// Cost counts three numbers for each site. A site before the split has two, since the lanes are
// equal there; both are carried all the same.
func (c TwoLaneConfig) Cost() layers.Cost {
	total := c.RowsCost(laneCount, false, layers.Cost{Parameters: 3})
	total.Parameters -= 2 * float64(min(c.Split, c.Layers))
	return total
}

// laneCount is the number of lanes.
const laneCount = 2

// twoLane is a stream of two lanes (modded-nanogpt, pull request 230; parameter-golf, pull request
// 1204): attention reads lane 0, feed-forwards lane 1, and
//
//	X_0 <- r X_0 + p_0 F,   X_1 <- r X_1 + p_1 F;   features = Norm((X_0 + X_1) / 2)
//
// where before block split p_0 = p_1. With parallel, in blocks from there on, a feed-forward
// reads lane 1 as it was before the block's attention; lane 0 is carried once per block by
// attention's r, and lane 1 by the feed-forward's. All numbers start at 1 and do not decay.
// Lanes are rows that mix.Write writes.
//
// Parameters of a site: "lanes" [1, 3], r | p_0 | p_1; before split [1, 2], r | p.
type twoLane struct {
	*rows
	config TwoLaneConfig
	own    gorgonia.Nodes // numbers by Site.Index
}

// New makes the parameters of a stream of two lanes.
func (c TwoLaneConfig) New(b *graph.Builder) Stream {
	s := &twoLane{config: c}
	for _, at := range c.AllSites() {
		s.own = append(s.own, b.Param(layers.Gain(at.Name()+".lanes", 1, 2+int(indicator(c.parted(at))))))
	}
	all, columns := s.coefficients(b), packing{n: laneCount, m: 1}.columns()
	s.rows = newRows(b, c.Vectors, packing{n: laneCount, m: 1}, RowOptions{}, func(at Site) RowMixer {
		return RowMixer{Coefficients: func(*gorgonia.Node) *gorgonia.Node {
			return shape.Slice(b, all, at.Index*columns, (at.Index+1)*columns) // [2, 4]
		}, Form: func() Form { return s.form(at) }}
	}, nil)
	s.Use(s)
	return s
}

// parted tells whether the lanes have parted at a site.
func (c TwoLaneConfig) parted(at Site) bool { return c.Loop.Block(at.Block) >= c.Split }

// parallel tells whether a site is in a parallel block.
func (c TwoLaneConfig) parallel(at Site) bool { return c.Parallel && c.parted(at) }

// carries tells whether a site carries the lanes by its numbers.
func (c TwoLaneConfig) carries(at Site) bool { return !c.parallel(at) || at.Sublayer == Attention }

// lane returns the lane that a site reads.
func lane(at Site) int { return int(indicator(at.Sublayer == FeedForward)) }

// carrier returns the parameter that has the r by which lane 1 is carried at a site: the site's own
// or, at the attention of a parallel block, the feed-forward's.
func (s *twoLane) carrier(at Site) *gorgonia.Node {
	if s.config.parallel(at) && at.Sublayer == Attention {
		return s.own[at.Index+1]
	}
	return s.own[at.Index]
}

// coefficients returns the coefficients of all sites side by side [2, 4 sites], computed at once
// from all numbers.
func (s *twoLane) coefficients(b *graph.Builder) *gorgonia.Node {
	near, sites, columns := s.own[0], s.config.AllSites(), packing{n: laneCount, m: 1}.columns()
	none := shape.Constant(b, near, []float64{0}, 1, 1)
	var numbers [laneCount]gorgonia.Nodes // - | r | - | p_1, and - | - | r | p_0, where - is not used
	for _, at := range sites {
		own, r := s.own[at.Index], s.carrier(at)
		numbers[0], numbers[1] = append(numbers[0], none, own), append(numbers[1], none, none)
		if !s.config.parted(at) {
			numbers[0] = append(numbers[0], shape.Slice(b, own, 1, 2))
		}
		if r == own {
			numbers[1] = append(numbers[1], shape.Slice(b, own, 0, 2))
		} else {
			numbers[1] = append(numbers[1], shape.Slice(b, r, 0, 1), shape.Slice(b, own, 1, 2))
		}
	}
	where := func(is func(at Site, row, column int) bool) *gorgonia.Node {
		return shape.Constant(b, near, table(laneCount, columns*len(sites), func(row, i int) float64 {
			return indicator(is(sites[i/columns], row, i%columns))
		}), laneCount, 1, columns*len(sites))
	}
	c := where(func(at Site, row, column int) bool {
		return column == 0 && row == lane(at) || column == row+1 && !s.config.carries(at)
	})
	for i, of := range numbers {
		c = elementwise.AddScaled(b, c, where(func(at Site, row, column int) bool {
			return column == i+1 && row == i && s.config.carries(at) || column == 3 && row != i
		}), shape.Concat(b, of...))
	}
	return shape.Reshape(b, c, columns*len(sites))
}

// Read reads lane 1 of a parallel block as it was before attention.
func (s *twoLane) Read(state State, at Site) (*gorgonia.Node, Link) {
	if before := state.(VectorState).More; before != nil {
		state = VectorState{H: before[0]}
	}
	return s.rows.Read(state, at)
}

// Write writes to both lanes; in a parallel block, attention keeps their earlier values for the
// feed-forward.
func (s *twoLane) Write(state State, at Site, from Reading, y *gorgonia.Node) State {
	after := s.rows.Write(state, at, from, y).(VectorState)
	if s.config.parallel(at) && at.Sublayer == Attention {
		after.More = gorgonia.Nodes{state.(VectorState).H}
	}
	return after
}

// End returns the lanes' mean.
func (s *twoLane) End(state State) *gorgonia.Node {
	return elementwise.Scale(s.b, s.rows.End(state), 1./laneCount)
}

// form describes a site: it reads one lane, and carries and writes both by learned numbers.
func (s *twoLane) form(at Site) Form {
	f := mixedForm(packing{n: laneCount, m: 1}, "modded-nanogpt, pull request 230; parameter-golf, pull request 1204", Learned, s.own[at.Index])
	f.Res.Start, f.Up.Start = identity(laneCount), even(laneCount, "1", 1)
	f.Down = Fixed.coefficient(1, laneCount, f.Down.Axes, Start{"1 at row (site mod n)", table(1, laneCount, func(_, j int) float64 {
		return indicator(j == lane(at))
	})})
	if s.config.parallel(at) {
		f.Res.Parameters = nodeNames(s.own[at.Index], s.carrier(at))
	}
	if !s.config.carries(at) {
		f.Res, f.Beyond = fixed(laneCount, f.Res.Axes), []Term{{Text: "h is read as it is before the block's attention"}}
	}
	return f
}

// Carry carries the two rows and reads their mean at the end. A parallel feed-forward reads before
// its block's attention writes.
func (s *twoLane) Carry(f *Frozen) {
	s.CarrySites(f, copies(laneCount, s.c.D), func(at Site) {
		parallel := s.config.parallel(at)
		if !parallel || at.Sublayer == Attention {
			s.carryRead(f, at)
		}
		if parallel && at.Sublayer == Attention {
			s.carryRead(f, s.Sites(at.Block)[1])
		}
		s.carryWrite(f, at)
	})
	s.readOut(f, linear.Rows(s.c.D, []float64{1. / laneCount, 1. / laneCount}))
}
