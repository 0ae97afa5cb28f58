package stream

import (
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
)

// Vector is the residual stream of GPT-2 (Radford et al. 2019): one vector for each token,
//
//	h_0 = E[token] + P[position];  h <- h + Sub(Norm(h))
//
// Other streams whose sublayers read and write vectors of D entries are built on it: they embed a
// Vector and pass the Steps in which they differ to Use.
type Vector struct {
	tables
	carrier
	c         Vectors
	attention []heads
	features  []*layers.Norm // one for each block; nil: none
	posts     []*layers.Norm // after sublayers, by Site.Index; nil: none
	norm      *layers.Norm   // the last one; nil: none
	steps     Steps
	scales    gorgonia.Nodes // g [D] for each site, by its Index; nil: none
	x0        gorgonia.Nodes // lambda and mu [2] for each block; nil: none
	entry     *entry         // nil: blocks read what the tables give
	backout   *gorgonia.Node // mu [1]; nil: none
}

// Steps are what a stream does at its sites and at the end. A Vector implements all of them, so
// that a stream that embeds one overrides only those that differ.
type Steps interface {
	// Read returns what the norm in front of a site's sublayer reads, [T, D], and what Write needs
	// from it.
	Read(s State, at Site) (u *gorgonia.Node, link Link)
	// Write returns the state after the site's sublayer gave y [T, D].
	Write(s State, at Site, from Reading, y *gorgonia.Node) State
	// End returns what the last norm reads, [T, D].
	End(s State) *gorgonia.Node
	// Carry adds to f, in the order of the run, what is written to the state and read from it, and
	// through which linear maps.
	Carry(f *Frozen)
}

// Reading holds what a site has read: U [T, D], U after the site's norm, and the Link of
// Steps.Read.
type Reading struct {
	U, Normal *gorgonia.Node
	Link      Link
}

// VectorState holds the stream, h [T, D] or several rows of that width, and whatever else passes
// from site to site.
type VectorState struct {
	H    *gorgonia.Node
	More gorgonia.Nodes
}

// Nodes returns h, if there is one, and more.
func (s VectorState) Nodes() gorgonia.Nodes {
	if s.H == nil {
		return s.More
	}
	return append(gorgonia.Nodes{s.H}, s.More...)
}

// with returns the state with another h.
func (s VectorState) with(h *gorgonia.Node) VectorState { return VectorState{h, s.More} }

// NewVector makes the parameters of a vector stream.
func NewVector(b *graph.Builder, c VectorConfig) *Vector {
	v := startVector(b, c.Vectors)
	v.addBlocks()
	v.addOptions(c)
	v.addLastNorm()
	return v
}

// newVector calls NewVector without options.
func newVector(b *graph.Builder, c Vectors) *Vector { return NewVector(b, VectorConfig{Vectors: c}) }

// startVector makes only the parameters of the tables, with rows of the given axes, by default D.
func startVector(b *graph.Builder, c Vectors, row ...int) *Vector {
	v := &Vector{tables: newTables(b, c, row...), c: c}
	v.Use(v)
	return v
}

// Use makes s, a stream that embeds v, provide the steps.
func (v *Vector) Use(s Steps) {
	v.steps = s
	v.carrier = carrier{func(f *Frozen) {
		s.Carry(f)
		v.carryPosts(f)
	}, v.c.Writes}
}

// addBlocks makes the parameters of the maps and norms through which sublayers read and write.
func (v *Vector) addBlocks() {
	for l := range v.c.Layers {
		v.addBlock(l, true, v.c.Init.Output)
	}
}

// addBlock makes the parameters of one block, with or without norms; output says how W_O starts.
func (v *Vector) addBlock(block int, norms bool, output func(string, int, float64, ...int) graph.ParamSpec) {
	for _, at := range v.Sites(block) {
		var norm *layers.Norm
		v.addPostNorm(at)
		if norms && v.c.Blocks.normsBefore() {
			norm = layers.NewNorm(v.b, at.Name()+".norm", v.c.Norm, v.c.D)
		}
		if at.Sublayer == FeedForward {
			v.features = append(v.features, norm)
			continue
		}
		h := newBareHeads(v.b, v.c, at.Name(), output)
		h.norm = norm
		v.attention = append(v.attention, h)
	}
}

// weight makes a hidden weight [in, out].
func (v *Vector) weight(name string, in, out int) *gorgonia.Node {
	return v.b.Param(v.c.Init.Hidden(name, in, v.c.WidthRatio, in, out))
}

// addLastNorm makes the norm at the end.
func (v *Vector) addLastNorm() { v.norm = layers.NewNorm(v.b, "norm", v.c.Norm, v.c.D) }

// LookUp returns the tokens' rows plus their positions, after dropout, [T, D], for a stream whose
// first state is made from them, such as copies.
func (v *Vector) LookUp(t Tokens) *gorgonia.Node { return v.lookUp(t) }

// HasPositions tells whether there is a table of positions, which then writes at the source
// "embedding.positions" (CarrySites).
func (v *Vector) HasPositions() bool { return v.positions != nil }

// Embed looks up the tokens and adds their positions. In every stream the first state has the hook
// "embedding.out": one node with all entries of a token's state (Shape.Size). Everything later is
// computed from this node, so that a hook can replace the whole state. A stream that overrides
// Embed hooks what it makes of LookUp.
func (v *Vector) Embed(t Tokens) State {
	h := v.b.Hook(embeddingHook, v.entry.enter(v.lookUp(t), t, v.Table()), "feature") // [T, D]
	if v.x0 != nil {
		return v.beginBlock(VectorState{h, gorgonia.Nodes{h}}, 0)
	}
	return VectorState{H: h}
}

// Sites lists a block's sites: attention and feed-forward, or attention alone.
func (v *Vector) Sites(block int) []Site { return v.c.sites(block) }

// AllSites lists the sites of all blocks, in order.
func (v *Vector) AllSites() []Site { return v.c.AllSites() }

// ReadHeads returns W_QKV Norm(h); heads are contiguous columns.
func (v *Vector) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	h := v.attention[at.Block]
	from := v.read(s, at, h.norm)
	return mapped(v.b, from.Normal, h.qkv, h.qkvBias), from // [T, W + 2 KV Dh]
}

// WriteHeads writes W_O o.
func (v *Vector) WriteHeads(s State, at Site, link Link, o *gorgonia.Node) State {
	h := v.attention[at.Block]
	return v.WriteFeatures(s, at, link, mapped(v.b, o, h.output, h.outputsBias))
}

// ReadFeatures returns Norm(h).
func (v *Vector) ReadFeatures(s State, at Site) (*gorgonia.Node, Link) {
	from := v.read(s, at, v.features[at.Block])
	return from.Normal, from
}

// WriteFeatures writes y, changed by the section writes, then by the site's norm and times the
// residual scale, if there are any.
func (v *Vector) WriteFeatures(s State, at Site, link Link, y *gorgonia.Node) State {
	from, _ := link.(Reading)
	y = v.c.Common.Written(at, y)
	if v.posts != nil {
		y = v.posts[at.Index].Forward(v.Hook(at, rawSuffix, y)) // [T, D]
	}
	if c := v.c.Blocks.ResidualScale; c != 0 {
		y = elementwise.Scale(v.b, y, c)
	}
	return v.steps.Write(s, at, from, y)
}

// read reads the state by the stream's Steps and normalises what it gets.
func (v *Vector) read(s State, at Site, norm *layers.Norm) Reading {
	u, link := v.steps.Read(s, at)
	from := Reading{u, u, link}
	if norm != nil {
		from.Normal = norm.Forward(u)
	}
	return from
}

// EndBlock keeps the stream for backout, and begins the next block for x0.
func (v *Vector) EndBlock(s State, block int) State {
	if v.backout != nil && block == v.backoutBlock() {
		state := s.(VectorState)
		s = VectorState{state.H, append(slices.Clip(state.More), state.H)}
	}
	if v.x0 == nil || block+1 == v.c.Layers {
		return s
	}
	return v.beginBlock(s.(VectorState), block+1)
}

// Features returns the state after the final norm.
func (v *Vector) Features(s State) *gorgonia.Node {
	h := v.steps.End(s)
	if v.norm == nil {
		return h
	}
	return v.norm.Forward(h)
}

// Read returns h.
func (v *Vector) Read(s State, _ Site) (*gorgonia.Node, Link) { return s.(VectorState).H, nil }

// Write adds y.
func (v *Vector) Write(s State, at Site, _ Reading, y *gorgonia.Node) State { return v.Add(s, at, y) }

// End returns h, without what backout takes away.
func (v *Vector) End(s State) *gorgonia.Node {
	if v.backout != nil {
		return v.backedOut(s.(VectorState))
	}
	return s.(VectorState).H
}

// Add returns h + y with y [T, D], for streams that add something other than the sublayer's output.
// y has the hook "blocks.0.attention.write", the sum "blocks.0.attention.stream".
func (v *Vector) Add(s State, at Site, y *gorgonia.Node) State {
	state := s.(VectorState)
	h := state.H
	if v.scales != nil {
		h = v.addScaled(h, at, y)
	} else {
		h = v.b.Add(h, v.Written(at, y))
	}
	return state.with(v.Hook(at, ".stream", h))
}

// Written applies dropout to a sublayer's output y [T, D] and gives it the hook
// "blocks.0.attention.write". A stream calls it before doing anything else with y, unless it calls
// Add, which calls Written.
func (v *Vector) Written(at Site, y *gorgonia.Node) *gorgonia.Node {
	return v.Hook(at, ".write", elementwise.Dropout(v.b, y, v.c.Dropout)) // [T, D]
}

// Hook names an activation of a site, "blocks.0.attention" followed by end, so that hooks can see
// and replace x. axes names the axes after the tokens' axis; by default there is one, "feature".
func (v *Vector) Hook(at Site, end string, x *gorgonia.Node, axes ...string) *gorgonia.Node {
	if len(axes) == 0 {
		axes = []string{"feature"}
	}
	return v.b.Hook(at.Name()+end, x, axes...)
}

// Form describes h' = h + F(h), and what the options change in it.
func (v *Vector) Form(at Site) Form {
	return v.optionsForm(at, plainForm(at, "Radford et al. 2019 (GPT-2); He et al. 2016, arXiv 1603.05027"))
}
