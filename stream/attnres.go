package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/layers"
)

// AttnResConfig describes a stream of attention residuals.
type AttnResConfig struct {
	Vectors
	Block int  `yaml:"block" default:"1" max:"131072" help:"sites a block, whose outputs are summed before they are read: fewer sources, at less memory and time (the paper has about 8 blocks). 1 is the full form, each output a source of its own"`
	Delta bool `yaml:"delta" added:"false" help:"sites read the sum of all outputs, as in the transformer, plus what attention over the outputs of finished blocks gives"`
	Gate  bool `yaml:"gate" added:"false" help:"with delta: each site multiplies what this attention gives by a learned factor, 0 at first, so that the model starts as the transformer"`
}

// Name is "attnres".
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
			Use:    "Attention over depth beside the residual sum, not in its place: sites read the transformer's stream and, by weights of each token's own, earlier outputs once more. It changes what sublayers read, never what the stream carries. With blocks of one site it starts as the transformer up to the norm's eps, with a gate exactly. It costs what attention residuals do.",
		}
	}
	return layers.Card{
		Title: "Attention Residuals",
		Equation: "v_0 = embedding;   v_i = F_i(u_i)\n" +
			"u = sum_i a_i v_i;   a = softmax_i(w . (g ⊙ v_i / rms(v_i)))",
		Source: "Kimi Team 2026, arXiv 2603.15031: attention over depth in the place of residual sums",
		Use:    "Each site chooses, for each token, which earlier outputs it reads, by a learned query of its own. There is no other residual, so that depth does not dilute an output. It costs hardly any parameters and FLOPs; all outputs are kept and read again, which blocks of sites make fewer. At first it reads their mean: the transformer, up to the norm's eps.",
	}
}

// Defaults attend over every output.
func (c AttnResConfig) Defaults() Design {
	c.Block = orDefault(c.Block, 1)
	return c
}

// Check wants blocks of no more sites than there are.
func (c AttnResConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	if sites := 2 * c.Layers; c.Block < 1 || c.Block > sites {
		return layers.Setting("block", "want 1 to %d, the sites of %d layers, got %d", sites, c.Layers, c.Block)
	}
	if c.Gate && !c.Delta {
		return layers.Setting("gate", "want delta: true with it, got gate alone")
	}
	return nil
}

// Shape is that of one vector a token: what a site reads, or with delta the sum. The sources are not counted.
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

// Plain is a vector stream: a gate's factors are 0 at first.
func (c AttnResConfig) Plain() (Design, bool) { return VectorConfig{Vectors: c.Vectors}, c.Gate }

// Cost has the reads of all sites but the first and, but with delta, the last one.
func (c AttnResConfig) Cost() layers.Cost {
	total := c.cost().Plus(c.lastNormCost())
	for site := range c.reads() {
		total = total.Plus(c.readCost(site))
	}
	return total
}

// readCost is that of a read of several sources: a query and a gain, a score and a term of the sum for each source. What
// is read is kept next to the sources, with delta a block's sum once it is a source; a gate is one number more.
func (c AttnResConfig) readCost(site int) layers.Cost {
	d, n := float64(c.D), c.sources(site)
	var cost layers.Cost
	if n > 1 {
		cost = layers.Cost{Parameters: 2 * d, FLOPs: 4 * d * float64(n), Activations: d}
	}
	if c.Delta && n > 1 {
		cost.Activations = d * (indicator(c.Gate) + indicator(n > c.sources(site-1)))
	}
	if c.Gate && site > 0 {
		cost = cost.Plus(layers.Cost{Parameters: 1, FLOPs: 2 * d})
	}
	return cost
}

// PassParameters are those of reads that have several sources on a later pass alone.
func (c AttnResConfig) PassParameters() float64 {
	further, count := 2*c.Loop.Further(), 0.
	for site := 2 * c.Loop.Begin; site < 2*c.Layers-further; site++ {
		count += c.readCost(site+further).Parameters - c.readCost(site).Parameters
	}
	return count
}

// reads is the number of reads: one a site and, but with delta, the last one.
func (c AttnResConfig) reads() int {
	if c.Delta {
		return 2 * c.Layers
	}
	return 2*c.Layers + 1
}

// rows is the number of sums that there are at a site: the embedding, and one a block that has begun.
func (c AttnResConfig) rows(site int) int { return 1 + (site+c.Block-1)/c.Block }

// sources is how many of them a site reads, of the last read that after all sites; with delta they are those of finished
// blocks, of which the first site has no need.
func (c AttnResConfig) sources(site int) int {
	if c.Delta {
		return 1 + site/c.Block
	}
	return c.rows(site)
}

// New is newAttnRes.
func (c AttnResConfig) New(b *graph.Builder) Stream { return newAttnRes(b, c) }

// attnRes is a stream of attention residuals (Kimi Team 2026, arXiv 2603.15031). Its sources are the
// embedding and the outputs of earlier sites, and each site reads, token by token,
//
//	u = sum over i of a_i v_i,   a = softmax over i of w . (g ⊙ v_i / rms(v_i))
//
// with a query w, 0 at first, and a gain g, 1 at first, of its own, which do not decay. What a site
// gives becomes a source; in blocks of several sites it is added to the block's source. After the last site
// one more read goes into the last norm. The first site has one source, which is what it reads. At
// first u is the sources' mean, a vector stream's h over their number, and after a norm the function
// is that stream's up to the norm's eps, which weighs more by the square of that number.
//
// With delta (Luo et al. 2026, arXiv 2605.18855) there is the sum of all outputs h, too, which the last norm reads, and
// sites but the first read
//
//	u = h + G sum over i of a_i v_i
//
// of the sources of finished blocks alone; G is 1, or a learned number that is 0 at first.
//
// Parameters: "blocks.l.SUBLAYER.attnres.query" and ".norm" [D], not of a read of one source; ".gate" [1];
// "attnres.query" and ".norm".
type attnRes struct {
	*Vector
	c     AttnResConfig
	reads []depthRead // by Site.Index, the last one last; none of the first site
}

// depthRead are the parameters of one read.
type depthRead struct {
	name        string         // "blocks.0.feedforward", "" of the last
	query, gain *gorgonia.Node // [D]; nil: one source
	gate        *gorgonia.Node // G [1]; nil: 1
}

// prefix is that of the read's parameters and weights.
func (r depthRead) prefix() string {
	if r.name == "" {
		return "attnres"
	}
	return r.name + ".attnres"
}

// weights is the hook of the read's weights.
func (r depthRead) weights() string { return r.prefix() + weightsHook }

// attnResState are the sources and, with delta, the sum of all outputs h, [T, D] each.
type attnResState struct {
	Sources gorgonia.Nodes
	H       *gorgonia.Node
}

// Nodes returns the sources, and h.
func (s attnResState) Nodes() gorgonia.Nodes {
	if s.H == nil {
		return s.Sources
	}
	return append(gorgonia.Nodes{s.H}, s.Sources...)
}

// newAttnRes makes the parameters of a stream of attention residuals.
func newAttnRes(b *graph.Builder, c AttnResConfig) *attnRes {
	a := &attnRes{Vector: NewVector(b, VectorConfig{Vectors: c.Vectors}), c: c}
	for l := range c.Layers {
		for _, site := range twoSites(l) {
			a.reads = append(a.reads, depthRead{name: site.Name()})
		}
	}
	if !c.Delta {
		a.reads = append(a.reads, depthRead{})
	}
	for i := range a.reads {
		r := &a.reads[i]
		if c.sources(i) > 1 {
			r.query = b.Param(layers.Zero(r.prefix()+".query", c.D))
			r.gain = b.Param(layers.Gain(r.prefix()+".norm", c.D))
		}
		if c.Gate && i > 0 {
			r.gate = b.Param(layers.Zero(r.prefix()+".gate", 1))
		}
	}
	return a
}

// Embed is the first source.
func (a *attnRes) Embed(t Tokens) State {
	h := a.embed(t) // [T, D]
	if !a.c.Delta {
		return attnResState{Sources: gorgonia.Nodes{h}}
	}
	return attnResState{gorgonia.Nodes{h}, h}
}

// read is what read number i makes of the state: [T, D].
func (a *attnRes) read(s State, i int) State {
	state := s.(attnResState)
	u := a.attend(a.reads[i], state.Sources[:a.c.sources(i)])
	if a.c.Delta && i > 0 {
		if gate := a.reads[i].gate; gate != nil {
			u = elementwise.WeightedSum(a.b, gate, u)
		}
		u = a.b.Add(state.H, u)
	}
	return VectorState{a.b.Hook(a.readName(i), u, "feature")}
}

// attend is a read's sum of the sources: [T, D]. With weights that are hooked it is made of them.
func (a *attnRes) attend(r depthRead, sources gorgonia.Nodes) *gorgonia.Node {
	u := sources[0] // [T, D]
	switch name := r.weights(); {
	case r.query == nil:
	case a.b.Hooked(name):
		weights := mix.DepthWeights(a.b, r.query, r.gain, orEps(a.c.Norm.Eps), sources...) // [T, sources]
		u = elementwise.WeightedSum(a.b, a.b.Hook(name, weights, "source"), sources...)
	default:
		u = mix.DepthAttention(a.b, r.query, r.gain, orEps(a.c.Norm.Eps), sources...)
	}
	return u
}

// readName is the hook of what read number i gives.
func (a *attnRes) readName(i int) string {
	if name := a.reads[i].name; name != "" {
		return name + ".read"
	}
	return "attnres.read"
}

// ReadHeads is the vector stream's, of what is read.
func (a *attnRes) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	return a.Vector.ReadHeads(a.read(s, at.Index), at)
}

// ReadFeatures is the vector stream's, of what is read.
func (a *attnRes) ReadFeatures(s State, at Site) (*gorgonia.Node, Link) {
	return a.Vector.ReadFeatures(a.read(s, at.Index), at)
}

// WriteHeads makes a source of W_O o.
func (a *attnRes) WriteHeads(s State, at Site, _ Link, o *gorgonia.Node) State {
	return a.write(s, at, a.HeadsOutput(at, o))
}

// WriteFeatures makes a source of y.
func (a *attnRes) WriteFeatures(s State, at Site, _ Link, y *gorgonia.Node) State {
	return a.write(s, at, y)
}

// write begins a source with y [T, D], or adds y to that of the site's block, and to h; the source as the site
// leaves it, with delta h, has the hook "blocks.0.attention.stream". What no site would read is not made.
func (a *attnRes) write(s State, at Site, y *gorgonia.Node) State {
	y = a.b.Hook(at.Name()+".write", elementwise.Dropout(a.b, y, a.c.Dropout), "feature") // [T, D]
	state := s.(attnResState)
	if a.c.Delta {
		state.H = a.b.Hook(at.Name()+".stream", a.b.Add(state.H, y), "feature")
		if a.c.rows(at.Index+1) > a.c.sources(2*a.c.Layers-1) {
			return state
		}
	}
	sources := state.Sources
	if at.Index%a.c.Block > 0 {
		last := len(sources) - 1
		y, sources = a.b.Add(sources[last], y), sources[:last]
	}
	if !a.c.Delta {
		y = a.b.Hook(at.Name()+".stream", y, "feature")
	}
	state.Sources = append(sources[:len(sources):len(sources)], y)
	return state
}

// Features is the norm of the last read, or of h.
func (a *attnRes) Features(s State) *gorgonia.Node {
	if a.c.Delta {
		return a.Vector.Features(VectorState{s.(attnResState).H})
	}
	return a.Vector.Features(a.read(s, len(a.reads)-1))
}
