package stream

import (
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
)

// AttnResConfig describes a stream of attention residuals.
type AttnResConfig struct {
	Vectors
	Block        int  `yaml:"block" default:"1" max:"131072"`
	Delta        bool `yaml:"delta" added:"false" help:"sites read the sum of all outputs, as in the transformer, plus attention over those of finished blocks"`
	RoutingHeads int  `yaml:"routing_heads" added:"0" max:"131072" help:"heads of a read, each for its own part of the width; 0: 1"`
	Gate         bool `yaml:"gate" added:"false" help:"with delta: each site multiplies this attention by a learned factor, 0 at first"`
}

// Help returns the help texts that are too long for tags, by key.
func (AttnResConfig) Help() map[string]string {
	return map[string]string{
		"block": "sites a block, whose outputs are summed before they are read: fewer sources, less memory and time (the paper has " +
			"about 8 blocks). 1 is the full form, each output a source of its own",
	}
}

// Name returns "attnres".
func (AttnResConfig) Name() string { return "attnres" }

// Variant is "delta" or "plain".
func (c AttnResConfig) Variant() string {
	if c.Delta {
		return "delta"
	}
	return "plain"
}

// Card describes attention residuals.
func (c AttnResConfig) Card() layers.Card {
	if c.Delta {
		return layers.Card{
			Title: "Delta Attention Residuals",
			Equation: "v_0 = h = embedding;   u = h + G sum_i a_i v_i;   v_i = F_i(u);   h <- h + v_i\n" +
				"a = softmax_i(w . (g ⊙ v_i / rms(v_i)));   G = 1, or with a gate learned, 0 at first",
			Source: "Luo et al. 2026, arXiv 2605.18855",
			Use: "Attention over depth added to the residual sum, not instead of it: sites read the transformer's stream and, by weights of each token's " +
				"own, earlier outputs once more. It changes what sublayers read, never what the stream carries. With blocks of one site it starts as the " +
				"transformer up to the norm's eps, with a gate exactly. It costs what attention residuals do.",
		}
	}
	return layers.Card{
		Title: "Attention Residuals",
		Equation: "v_0 = embedding;   v_i = F_i(u_i)\n" +
			"u = sum_i a_i v_i;   a = softmax_i(w . (g ⊙ v_i / rms(v_i)))",
		Source: "Kimi Team 2026, arXiv 2603.15031: attention over depth instead of residual sums",
		Use: "Each site chooses, for each token, which earlier outputs it reads, by a learned query of its own. There is no other residual, so that " +
			"depth does not dilute an output. It costs hardly any parameters and FLOPs; all outputs are kept and read again, which blocks of sites make fewer. " +
			"At first it reads their mean: the transformer, up to the norm's eps. With routing_heads (arXiv 2607.27230) each part of the width has a " +
			"softmax of its own.",
	}
}

// Defaults attends over every output, with one head.
func (c AttnResConfig) Defaults() Design {
	if c.RoutingHeads == 1 {
		c.RoutingHeads = 0
	}
	c.Block = orDefault(c.Block, 1)
	return c
}

// Check returns an error if a block has more sites than the model, or for a gate without delta.
func (c AttnResConfig) Check() error {
	if err := c.Vectors.Check(); err != nil {
		return err
	}
	if sites := 2 * c.Layers; c.Block < 1 || c.Block > sites {
		return layers.Setting("block", "want 1 to %d, the sites of %d layers, got %d", sites, c.Layers, c.Block)
	}
	if c.RoutingHeads < 0 || c.D%max(1, c.RoutingHeads) != 0 {
		return layers.Setting("routing_heads", "want a divisor of d_model %d, got %d", c.D, c.RoutingHeads)
	}
	if c.Gate && !c.Delta {
		return layers.Setting("gate", "want delta: true with it, got gate alone")
	}
	return nil
}

// Shape returns the shape of a stream of one vector for each token: what a site reads, or with
// Delta the sum. The sources are not counted.
func (c AttnResConfig) Shape() Shape {
	s := c.shape(c.D)
	if c.Block == 1 {
		s.Kept = 2 * c.D // every site's output
	}
	if c.Delta {
		s.Kept = max(s.Kept, c.D) + c.D
	}
	return s
}

// Plain returns a vector stream if there is a gate, since its factors start at 0.
func (c AttnResConfig) Plain() (Design, bool) { return c.plain(c.Gate) }

// Cost adds to a vector stream the reads of all sites and, without Delta, the read after the last
// site. The parameters of the sites' reads are counted by DepthParameters.
func (c AttnResConfig) Cost() layers.Cost {
	total := c.Vectors.Cost()
	for site := range 2 * c.Layers {
		total = total.Plus(c.readCost(site))
	}
	if !c.Delta {
		total = total.Plus(c.readCost(2*c.Layers), layers.Cost{Parameters: c.readParameters(2 * c.Layers)})
	}
	return total
}

// readCost returns the cost of a site's read without its parameters: for each of several sources a
// score and a term of the sum. It keeps what is read or, with Delta, a block's sum once it has
// become a source.
func (c AttnResConfig) readCost(site int) (cost layers.Cost) {
	d, n := float64(c.D), c.sources(site)
	if n > 1 {
		cost.FLOPs, cost.Activations = 4*d*float64(n), d
	}
	if c.Delta && n > 1 {
		cost.Activations = d * (indicator(c.Gate) + indicator(n > c.sources(site-1)))
	}
	if c.Gate && site > 0 {
		cost.FLOPs += 2 * d
	}
	return cost
}

// readParameters counts the parameters of a site's read: a query and a gain if it has several
// sources, and a gate, which is one number.
func (c AttnResConfig) readParameters(site int) float64 {
	return 2*float64(c.D)*indicator(c.sources(site) > 1) + indicator(c.Gate && site > 0)
}

// DepthParameters counts the parameters of a block's reads. On a later pass of a loop they may have
// several sources for the first time.
func (c AttnResConfig) DepthParameters() func(depth int) (shared, own float64) {
	return func(depth int) (shared, own float64) {
		return c.readParameters(2*depth) + c.readParameters(2*depth+1), 0
	}
}

// rows returns the number of sources that exist at a site: the embedding, and a sum for each block
// that has begun.
func (c AttnResConfig) rows(site int) int { return 1 + (site+c.Block-1)/c.Block }

// sources returns how many of the sums a site reads; the number of sites stands for the read after
// them all. With Delta these are the embedding and the sums of finished blocks, and the first site
// reads none.
func (c AttnResConfig) sources(site int) int {
	if c.Delta {
		return 1 + site/c.Block
	}
	return c.rows(site)
}

// New makes the parameters of a stream of attention residuals.
func (c AttnResConfig) New(b *graph.Builder) Stream {
	a := &attnRes{Vector: newVector(b, c.Vectors), config: c}
	for _, at := range c.AllSites() {
		a.reads = append(a.reads, depthRead{reader: at.Name(), prefix: at.Name() + ".attnres", output: at.Name() + ".read"})
	}
	if !c.Delta {
		a.reads = append(a.reads, depthRead{reader: Unembedding, prefix: "attnres", output: "attnres.read"})
	}
	for i := range a.reads {
		r := &a.reads[i]
		if c.sources(i) > 1 {
			r.query = b.Param(layers.Zero(r.prefix+".query", c.D))
			r.gain = b.Param(layers.Gain(r.prefix+".norm", c.D))
		}
		if c.Gate && i > 0 {
			r.gate = b.Param(layers.Zero(r.prefix+".gate", 1))
		}
	}
	a.Use(a)
	return a
}

// attnRes is a stream of attention residuals (Kimi Team 2026, arXiv 2603.15031). Its sources are
// the embedding and the outputs of earlier sites, and each site reads, token by token,
//
//	u = sum over i of a_i v_i,   a = softmax over i of w . (g ⊙ v_i / rms(v_i))
//
// with its own query w, 0 at first, and gain g, 1 at first, which do not decay. A site's output
// becomes a source; in blocks of several sites it is added to the block's source. After the last
// site one more read goes into the last norm. The first site has one source and reads it. At first
// u is the mean of the sources, which is a vector stream's h divided by their number n; after a
// norm that makes no difference except that the norm's eps weighs n^2 times as much.
//
// With delta (Luo et al. 2026, arXiv 2605.18855) there is also the sum h of all outputs, which the
// last norm reads, and all sites but the first read
//
//	u = h + G sum over i of a_i v_i
//
// where i runs over the sources of finished blocks only; G is 1, or a learned number that is 0 at
// first. With several routing heads (arXiv 2607.27230) each reads its part of the columns by a
// softmax of its own over the scores of these columns; rms(v) is still taken over all columns.
//
// Parameters: "blocks.l.SUBLAYER.attnres.query" and ".norm" [D], unless a read has one source;
// ".gate" [1]; "attnres.query" and ".norm".
//
// The state's More are the sources, and with delta H the sum.
type attnRes struct {
	*Vector
	config AttnResConfig
	reads  []depthRead // by Site.Index, the read at the end last; the first site has none
}

// depthRead holds the names and parameters of one read.
type depthRead struct {
	reader, prefix, output string         // "blocks.0.feedforward", the prefix of its parameters, and the hook of its result
	query, gain            *gorgonia.Node // [D]; nil if there is one source
	gate                   *gorgonia.Node // G [1]; nil: 1
}

// last returns the number of the read at the end.
func (a *attnRes) last() int { return len(a.reads) - 1 }

// Embed makes the first source.
func (a *attnRes) Embed(t Tokens) State {
	h := a.embed(t) // [T, D]
	state := VectorState{More: gorgonia.Nodes{h}}
	if a.config.Delta {
		state.H = h
	}
	return state
}

// Read makes the read of a site.
func (a *attnRes) Read(s State, at Site) (*gorgonia.Node, Link) { return a.readOf(s, at.Index), nil }

// readOf returns what read number i reads from the state: [T, D].
func (a *attnRes) readOf(s State, i int) *gorgonia.Node {
	state, r := s.(VectorState), a.reads[i]
	u := a.attend(r, state.More[:a.config.sources(i)])
	if r.gate != nil {
		u = elementwise.WeightedSum(a.b, r.gate, u)
	}
	if a.config.Delta && i > 0 {
		u = a.b.Add(state.H, u)
	}
	return a.b.Hook(r.output, u, "feature")
}

// attend returns a read's weighted sum of the sources: [T, D]. If the weights are hooked, it
// computes them first and sums by them.
func (a *attnRes) attend(r depthRead, sources gorgonia.Nodes) *gorgonia.Node {
	name, o := r.prefix+weightsHook, mix.DepthOptions{Eps: orEps(a.c.Norm.Eps), Heads: a.config.RoutingHeads}
	switch {
	case r.query == nil:
		return sources[0]
	case a.b.Hooked(name):
		return a.attendByHead(name, mix.DepthWeights(a.b, r.query, r.gain, o, sources...), sources)
	}
	return mix.DepthAttention(a.b, r.query, r.gain, o, sources...)
}

// attendByHead sums each head's part of the sources by its weights, [T, heads*sources], which have
// the hook name.
func (a *attnRes) attendByHead(name string, weights *gorgonia.Node, sources gorgonia.Nodes) *gorgonia.Node {
	heads, n := a.config.heads(), len(sources)
	if weights = a.b.Hook(name, weights, "source"); heads == 1 {
		return elementwise.WeightedSum(a.b, weights, sources...)
	}
	var sums gorgonia.Nodes
	for head := range heads {
		var parts gorgonia.Nodes
		for _, v := range sources {
			parts = append(parts, shape.Slice(a.b, v, head*a.c.D/heads, (head+1)*a.c.D/heads))
		}
		sums = append(sums, elementwise.WeightedSum(a.b, shape.Slice(a.b, weights, head*n, (head+1)*n), parts...))
	}
	return shape.Concat(a.b, sums...) // [T, D]
}

// heads returns the number of heads of a read.
func (c AttnResConfig) heads() int { return max(1, c.RoutingHeads) }

// Write begins a source with y [T, D], or adds y to the source of the site's block, and with delta
// to h. The new source, or with delta h, has the hook "blocks.0.attention.stream". Sources that no
// site reads are not made.
func (a *attnRes) Write(s State, at Site, _ Reading, y *gorgonia.Node) State {
	c, state := a.config, s.(VectorState)
	y = a.Written(at, y)
	if c.Delta {
		state.H = a.Hook(at, ".stream", a.b.Add(state.H, y))
		if c.rows(at.Index+1) > c.sources(a.last()) {
			return state
		}
	}
	sources := state.More
	if at.Index%c.Block > 0 {
		last := len(sources) - 1
		y, sources = a.b.Add(sources[last], y), sources[:last]
	}
	if !c.Delta {
		y = a.Hook(at, ".stream", y)
	}
	state.More = append(slices.Clip(sources), y)
	return state
}

// End makes the last read or, with delta, returns h.
func (a *attnRes) End(s State) *gorgonia.Node {
	if a.config.Delta {
		return s.(VectorState).H
	}
	return a.readOf(s, a.last())
}
