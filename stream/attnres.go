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
	Block int `yaml:"block" default:"1" max:"131072" help:"sites a block, whose outputs are summed before they are read: fewer sources, at less memory and time (the paper has about 8 blocks). 1 is the full form, each output a source of its own"`
}

// Name is "attnres".
func (AttnResConfig) Name() string { return "attnres" }

// Card describes attention residuals.
func (AttnResConfig) Card() layers.Card {
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
	return nil
}

// Shape is that of one vector a token: what a site reads. The sources are not counted.
func (c AttnResConfig) Shape() Shape {
	s := c.shape(c.D)
	if c.Block == 1 {
		s.Kept = 2 * c.D // every site's output
	}
	return s
}

// Cost has the reads of all sites but the first, and the last one: a query and a gain each, and a
// score and a term of the sum for each source. What is read is kept next to the sources.
func (c AttnResConfig) Cost() layers.Cost {
	d, _, _ := c.counts()
	total := c.cost().Plus(c.lastNormCost())
	for site := 1; site <= 2*c.Layers; site++ {
		total = total.Plus(layers.Cost{Parameters: 2 * d, FLOPs: 4 * d * float64(c.sources(site)), Activations: d})
	}
	return total
}

// PassParameters are those of the first site's read, which has several sources from the second pass on.
func (c AttnResConfig) PassParameters() float64 {
	return 2 * float64(c.D) * indicator(c.Loop.Repeats(0))
}

// sources is the number of sources that a site reads, of the last read that after all sites.
func (c AttnResConfig) sources(site int) int { return 1 + (site+c.Block-1)/c.Block }

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
// Parameters: "blocks.l.SUBLAYER.attnres.query" and ".norm" [D], not of the first site; "attnres.query" and ".norm".
type attnRes struct {
	*Vector
	c     AttnResConfig
	reads []depthRead // by Site.Index, the last one last; none of the first site
}

// depthRead are the parameters of one read.
type depthRead struct {
	name        string         // "blocks.0.feedforward", "" of the last
	query, gain *gorgonia.Node // [D]
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

// attnResState are the sources, [T, D] each.
type attnResState struct{ Sources gorgonia.Nodes }

// Nodes returns the sources.
func (s attnResState) Nodes() gorgonia.Nodes { return s.Sources }

// newAttnRes makes the parameters of a stream of attention residuals.
func newAttnRes(b *graph.Builder, c AttnResConfig) *attnRes {
	a := &attnRes{Vector: NewVector(b, VectorConfig{Vectors: c.Vectors}), c: c}
	for l := range c.Layers {
		for _, site := range twoSites(l) {
			a.reads = append(a.reads, depthRead{name: site.Name()})
		}
	}
	a.reads = append(a.reads, depthRead{})
	for i := range a.reads[1:] {
		r := &a.reads[i+1]
		r.query = b.Param(layers.Zero(r.prefix()+".query", c.D))
		r.gain = b.Param(layers.Gain(r.prefix()+".norm", c.D))
	}
	return a
}

// Embed is the first source.
func (a *attnRes) Embed(t Tokens) State { return attnResState{gorgonia.Nodes{a.embed(t)}} }

// read is what read number i makes of the sources: [T, D]. With weights that are hooked it is made
// of them.
func (a *attnRes) read(s State, i int) State {
	r, sources := a.reads[i], s.(attnResState).Sources
	u := sources[0] // [T, D]
	switch name := r.weights(); {
	case r.query == nil:
	case a.b.Hooked(name):
		weights := mix.DepthWeights(a.b, r.query, r.gain, orEps(a.c.Norm.Eps), sources...) // [T, sources]
		u = elementwise.WeightedSum(a.b, a.b.Hook(name, weights, "source"), sources...)
	default:
		u = mix.DepthAttention(a.b, r.query, r.gain, orEps(a.c.Norm.Eps), sources...)
	}
	return VectorState{a.b.Hook(a.readName(i), u, "feature")}
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

// write begins a source with y [T, D], or adds y to that of the site's block; the source as the site
// leaves it has the hook "blocks.0.attention.stream".
func (a *attnRes) write(s State, at Site, y *gorgonia.Node) State {
	y = a.b.Hook(at.Name()+".write", elementwise.Dropout(a.b, y, a.c.Dropout), "feature") // [T, D]
	sources := s.(attnResState).Sources
	if at.Index%a.c.Block > 0 {
		last := len(sources) - 1
		y, sources = a.b.Add(sources[last], y), sources[:last]
	}
	y = a.b.Hook(at.Name()+".stream", y, "feature")
	return attnResState{append(sources[:len(sources):len(sources)], y)}
}

// Features is the norm of the last read.
func (a *attnRes) Features(s State) *gorgonia.Node {
	return a.Vector.Features(a.read(s, len(a.reads)-1))
}
