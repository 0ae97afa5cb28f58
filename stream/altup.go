package stream

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// AltUpConfig describes alternating updates.
type AltUpConfig struct {
	Vectors
	N          int `yaml:"n" default:"4" max:"64" help:"number of streams"`
	LaurelRank int `yaml:"laurel_rank" max:"131072" help:"blocks are Gemma 3n's, with LAuReL of this rank beside attention and norms after sublayers; 0: no"`
}

// Name returns "altup".
func (AltUpConfig) Name() string { return "altup" }

// Card describes alternating updates.
func (c AltUpConfig) Card() layers.Card {
	card := layers.Card{
		Title: "AltUp",
		Equation: "P_j = X_j + sum_i T_ji X_i;   h = block(P_0);   X_j <- P_j + (1 + a_j)(h - P_0)\n" +
			"logits = Norm(mean_j X_j U_j) W_U          T and a made of tanh(RMSNorm(.) W / D) at X_0 and h; X_j = X_0 E_j at first, as large as X_0",
		Source: "Baykal et al. 2023, arXiv 2301.13310, as Gemma 3n has it (transformers, Gemma3nTextAltUp)",
		Use: "A stream n times as wide for one pass of each block: the block updates the first stream, the others are predicted from all and corrected by what " +
			"the first one got. It costs 2(n-1) D^2 parameters once and hardly any a block. At first predictions and corrections are all but fixed, and the " +
			"random projections make it no transformer.",
	}
	if c.LaurelRank > 0 {
		card.Title += ", Gemma 3n"
		card.Use = "The same with Gemma 3n's blocks: the first stream goes through LAuReL beside attention, is divided by sqrt 2, and takes what sublayers give " +
			"after a norm. Gemma's embeddings of each layer are left out."
	}
	return card
}

// Defaults sets 4 streams.
func (c AltUpConfig) Defaults() Design {
	c.N = orDefault(c.N, defaultRows)
	return c
}

// Check returns an error unless there are 2 to 64 streams, and the rank is not negative.
func (c AltUpConfig) Check() error {
	switch err := c.Vectors.Check(); {
	case err != nil:
		return err
	case c.N < 2 || c.N > maxAltUpStreams:
		return layers.Setting("n", "want 2 to %d, got %d", maxAltUpStreams, c.N)
	case c.LaurelRank < 0:
		return layers.Setting("laurel_rank", "want >= 0, got %d", c.LaurelRank)
	}
	return nil
}

// maxAltUpStreams bounds the maps of predictions, which have N^3 weights.
const maxAltUpStreams = 64

// Shape returns the shape of the one stream that blocks read and write. Kept also counts the N
// predicted streams, which a block keeps for its end.
func (c AltUpConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Kept = (c.N + 1) * c.D
	return s
}

// laurel returns the stream that a block updates, as a stream of its own with Gemma 3n's blocks.
func (c AltUpConfig) laurel() LaurelConfig {
	return LaurelConfig{Vectors: c.Vectors, Form: laurelGemma, Rank: c.LaurelRank}
}

// Cost returns the cost of the stream that blocks update, of the projections to and from the other
// streams, and of each block's routes, prediction and correction. A block keeps the N streams, X_0,
// P_0, h - P_0 and what lies between the two maps of a route. The ends keep the products of their
// projections and, for the last projections, the N streams.
func (c AltUpConfig) Cost() layers.Cost {
	inner := c.Vectors.Cost()
	if c.LaurelRank > 0 {
		inner = c.laurel().Cost()
	}
	d, _, blocks := c.counts()
	n := float64(c.N)
	ends := layers.LinearCost(d, d, false).Times(2 * (n - 1)).Plus(layers.ActivationCost((3*n - 1) * d))
	block := layers.Cost{Parameters: d + d*n + n*n*n + n*n, FLOPs: 2*(2*d*n) + 2*n*n*n + 2*n*n + 2*n*n*d + 2*n*d,
		Activations: n*d + 3*d + 5*n + n*n}
	return inner.Plus(ends, block.Times(blocks))
}

// New makes the parameters of alternating updates (Baykal et al. 2023, arXiv 2301.13310, as Gemma
// 3n has them): n streams X_j of D entries, of which blocks read and write the first. X_0 is the
// embedding and X_j = size(X_0) M(X_0 E_j), with size(v) = sqrt(mean v^2) and M(v) = v /
// sqrt(max(mean v^2, 1e-5)). A block with route(v) = tanh(RMSNorm(v) W_r / D) is
//
//	P_j = X_j + sum over i of T_ji X_i,   T = route(X_0) W_p as [n, n]
//	h = the block's sublayers and their residuals, from P_0 on
//	X_j <- P_j + (1 + a_j) (h - P_0),     a = route(h) W_c
//
// and the last norm reads (X_0 + sum over j >= 1 of size(X_0) M(X_j U_j)) / n. With LaurelRank the
// residuals are Gemma 3n's (see the laurel stream). Left out are Gemma's embeddings of each layer
// and its bounds on W_p and W_c. All W start at N(0, 0.02^2).
//
// Parameters: "altup.in.1" and "altup.out.1" [D, D]; of a block "altup.norm" [D], "altup.router"
// [D, n], "altup.predict" [n, n*n], "altup.correct" [n, n].
func (c AltUpConfig) New(b *graph.Builder) Stream {
	s := &altUp{config: c}
	if c.LaurelRank > 0 {
		g := newGemma(b, c.laurel())
		s.Vector, s.inner = g.Vector, g
	} else {
		s.Vector = newVector(b, c.Vectors)
		s.inner = s.Vector
	}
	weight := func(name string, shape ...int) *gorgonia.Node {
		return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.02), Decay: true, Role: graph.RoleHidden})
	}
	for j := 1; j < c.N; j++ {
		s.in = append(s.in, weight(altUpEnd("in", j), c.D, c.D))
		s.out = append(s.out, weight(altUpEnd("out", j), c.D, c.D))
	}
	for l := range c.Layers {
		name := altUpName(l)
		s.blocks = append(s.blocks, altUpBlock{b.Param(layers.Gain(name+".norm", c.D)), weight(name+".router", c.D, c.N),
			weight(name+".predict", c.N, c.N*c.N), weight(name+".correct", c.N, c.N)})
	}
	s.Use(s)
	return s
}

// altUp is a stream of alternating updates. Within a block the state's H is the stream that the
// block updates, and its More are P [T, n, D] and P_0; after the last one H is X [T, n, D].
type altUp struct {
	*Vector
	config  AltUpConfig
	inner   Steps          // of the stream that a block updates
	in, out gorgonia.Nodes // E_j and U_j from j = 1 on
	blocks  []altUpBlock
}

// altUpBlock holds a block's parameters.
type altUpBlock struct{ gain, router, predict, correct *gorgonia.Node }

// altUpName returns the prefix of a block's parameters, "blocks.3.altup".
func altUpName(block int) string { return blockName(block) + ".altup" }

// altUpEnd names a projection, "altup.in.1".
func altUpEnd(end string, j int) string { return fmt.Sprintf("altup.%s.%d", end, j) }

// The ends of the names of hooks, and the name of one.
const (
	altUpActive  = ".active" // P_0
	altUpPredict = ".predict" + coefficientsHook
	altUpCorrect = ".correct" + coefficientsHook
	altUpStreams = ".out"      // X after the block
	altUpOut     = "altup.out" // what the last norm reads
	productHook  = ".product"
)

// project returns size(like) M(x w), and hooks x w.
func (s *altUp) project(x, w, like *gorgonia.Node) *gorgonia.Node {
	return norm.MatchSize(s.b, s.b.Hook(w.Name()+productHook, mapped(s.b, x, w, nil), "feature"), like)
}

// Embed makes the streams and predicts what the first block reads.
func (s *altUp) Embed(t Tokens) State {
	x := s.embed(t) // [T, D]
	all := gorgonia.Nodes{x}
	for _, w := range s.in {
		all = append(all, s.project(x, w, x))
	}
	return s.predict(shape.Reshape(s.b, shape.Concat(s.b, all...), s.config.N, s.c.D), 0)
}

// stream returns X_j [T, D] of x [T, n, D].
func (s *altUp) stream(x *gorgonia.Node, j int) *gorgonia.Node {
	return shape.Slice(s.b, x, j*s.c.D, (j+1)*s.c.D)
}

// route returns route(v) w + bias in the given shape, [T, ...]; bias may be nil.
func (s *altUp) route(block int, v, w, bias *gorgonia.Node, hook string, axes ...int) *gorgonia.Node {
	p, d := s.blocks[block], float64(s.c.D)
	z := norm.Linear(s.b, v, p.gain, p.router, norm.Options{RMS: true, Eps: s.c.Norm.Eps})            // [T, n]
	c := linear.Map(s.b, elementwise.SoftCap(s.b, z, d), w, linear.Options{Bias: bias, Scale: 1 / d}) // [T, n] or [T, n*n]
	return s.b.Hook(altUpName(block)+hook, shape.Reshape(s.b, c, axes...), "row", "coefficient")
}

// predict returns the state with which a block begins, from x [T, n, D].
func (s *altUp) predict(x *gorgonia.Node, block int) State {
	n := s.config.N
	p := mix.Write(s.b, x, x, s.route(block, s.stream(x, 0), s.blocks[block].predict, nil, altUpPredict, n, n), n) // [T, n, D]
	first := s.b.Hook(altUpName(block)+altUpActive, s.stream(p, 0), "feature")                                     // [T, D]
	return VectorState{first, gorgonia.Nodes{p, first}}
}

// Read reads the stream that the block updates.
func (s *altUp) Read(state State, at Site) (*gorgonia.Node, Link) {
	return s.Hook(at, ".read", state.(VectorState).H), nil
}

// Write writes to the stream that the block updates.
func (s *altUp) Write(state State, at Site, from Reading, y *gorgonia.Node) State {
	return s.inner.Write(state, at, from, y)
}

// EndBlock corrects all streams, and predicts what the next block reads.
func (s *altUp) EndBlock(state State, block int) State {
	b, of, n := s.b, state.(VectorState), s.config.N
	p, w := of.More[0], s.blocks[block].correct
	ones := shape.Constant(b, w, slices.Repeat([]float64{1}, n), n)
	change := b.Add(of.H, elementwise.Scale(b, of.More[1], -1)) // [T, D]
	x := mix.Write(b, p, change, s.route(block, of.H, w, ones, altUpCorrect, n, 1), 1)
	x = b.Hook(altUpName(block)+altUpStreams, x, "row", "feature") // [T, n, D]
	if block+1 == s.c.Layers {
		return VectorState{H: x}
	}
	return s.predict(x, block+1)
}

// End returns the mean of the streams. Those after the first are projected, and scaled to the size
// of the first.
func (s *altUp) End(state State) *gorgonia.Node {
	x := state.(VectorState).H
	all := gorgonia.Nodes{s.stream(x, 0)}
	for j, w := range s.out {
		all = append(all, s.project(s.stream(x, j+1), w, all[0]))
	}
	return s.b.Hook(altUpOut, elementwise.Scale(s.b, s.b.Add(all...), 1/float64(s.config.N)), "feature") // [T, D]
}

// Form describes the stream that a block updates. The block's attention reads this stream as a sum
// of all streams: its prediction.
func (s *altUp) Form(at Site) Form {
	f, p := s.inner.(FormDescriber).Form(at), s.blocks[at.Block]
	if at.Sublayer == Attention {
		f.Source += "; " + s.config.Card().Source
		start := Start{Text: "1 at the first of n streams, about 0 at the others"}
		f.Down = Dependent.coefficient(1, s.config.N, "1 x n", start, p.gain, p.router, p.predict)
		f.Res = f.Down
		f.Beyond = append(f.Beyond, Term{"after the block each stream gets what the block has added to the first, times a factor",
			nodeNames(p.gain, p.router, p.correct)})
	}
	return f
}
