package stream

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
)

// VectorConfig describes a vector stream, and two options of it.
type VectorConfig struct {
	Vectors
	LayerScale bool   `yaml:"layerscale" help:"multiply what each sublayer adds by a learned gain for each entry, small at first"`
	X0         string `yaml:"x0" help:"before each block h becomes lambda h + mu h_0, h_0 being the embedding, both learned: neutral starts at 1 and 0, nanochat at its schedule; none or empty: no"`
}

// Name is "vector".
func (VectorConfig) Name() string { return "vector" }

// Card describes a plain transformer.
func (VectorConfig) Card() layers.Card {
	return layers.Card{
		Title: "Transformer",
		Equation: "h <- h + F(h)\n" +
			"logits = Norm(h) W_U;   options: h <- h + g ⊙ F(h), and h <- lambda h + mu h_0 before a block",
		Source: "Radford et al. 2019 (GPT-2): pre-norm blocks, output projections started at 1/sqrt(2L)",
		Use:    "The baseline: one vector a token that every sublayer adds to. Fewest moving parts, most known about it, and every rate and size rule of the literature applies. To carry more it has to grow in width, and everything else grows with that.",
	}
}

// Defaults spells options that are off in one way.
func (c VectorConfig) Defaults() Design {
	if c.X0 == x0None {
		c.X0 = ""
	}
	return c
}

// Check wants sizes that fit together, and an option that there is.
func (c VectorConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	return c.checkOptions()
}

// Shape is that of one vector a token.
func (c VectorConfig) Shape() Shape {
	s := c.shape(c.D)
	s.Sublayers = c.sublayers()
	return s
}

// Cost is that of the tables, of the sublayers' ways in and out, and of the last norm; h is
// kept after each sublayer.
func (c VectorConfig) Cost() layers.Cost {
	return c.cost().Plus(c.lastNormCost()).Plus(c.optionsCost())
}

// New is NewVector.
func (c VectorConfig) New(b *graph.Builder) Stream { return NewVector(b, c) }

// Ratios compares widths and heads.
func (c VectorConfig) Ratios(base Design) Ratios {
	other, head := base.(VectorConfig), c.headDim()
	r := Unscaled(orDefault(other.HeadDim, head))
	r.WidthRatio = ratio(c.D, other.D)
	r.HeadsRatio = ratio(c.Heads, other.Heads) * ratio(head, orDefault(other.HeadDim, head))
	return r
}

// WidthScalings grow the width by heads of one size.
func (VectorConfig) WidthScalings() []WidthScaling {
	return []WidthScaling{{Scales: "d_model, heads and feed-forward, heads of one size", Base: VectorConfig{Vectors: Vectors{D: 64}}, Heads: 4,
		Keys: []string{"stream.d_model", headsKey, hiddenKey}}}
}

// cost is that of a vector stream without a final norm, as newVector makes it.
func (c Vectors) cost() layers.Cost {
	d, _, blocks := c.counts()
	site := c.Norm.Cost(d).Plus(layers.ActivationCost(d))
	return c.tablesCost(d).Plus(c.headsCost().Plus(site.Times(float64(len(c.sublayers())))).Times(blocks))
}

// Vector is the residual stream of GPT-2 (Radford et al. 2019): one vector a token,
//
//	h_0 = E[token] + P[position];  h <- h + Sub(Norm(h))
type Vector struct {
	tables
	c         Vectors
	attention []heads
	features  []*layers.Norm
	norm      *layers.Norm
	scales    gorgonia.Nodes // g [D] of each site, by its Index; nil: none
	x0        gorgonia.Nodes // lambda and mu [2] of each block; nil: none
}

// VectorState is the stream: h [T, D].
type VectorState struct{ H *gorgonia.Node }

// Nodes returns h.
func (s VectorState) Nodes() gorgonia.Nodes { return gorgonia.Nodes{s.H} }

// Vector returns h.
func (s VectorState) Vector() *gorgonia.Node { return s.H }

// WithVector is the state of another h.
func (VectorState) WithVector(h *gorgonia.Node) State { return VectorState{h} }

// WithVector is a state whose sublayers read and write one vector h [T, D] a token, as a Vector's
// do, whatever else it carries. A stream that embeds a Vector gives it such states.
type WithVector interface {
	State
	Vector() *gorgonia.Node
	WithVector(h *gorgonia.Node) State // the same with another h
}

// NewVector makes the parameters of a vector stream.
func NewVector(b *graph.Builder, c VectorConfig) *Vector {
	v := newVector(b, c.Vectors)
	v.addOptions(c)
	v.norm = layers.NewNorm(b, "norm", c.Norm, c.D)
	return v
}

// newVector makes a vector stream without a final norm.
func newVector(b *graph.Builder, c Vectors) *Vector {
	v := &Vector{tables: newTables(b, c), c: c}
	for l := range c.Layers {
		for _, site := range v.Sites(l) {
			if site.Sublayer == Attention {
				v.attention = append(v.attention, newHeads(b, c, site.Name()))
			} else {
				v.features = append(v.features, layers.NewNorm(b, site.Name()+".norm", c.Norm, c.D))
			}
		}
	}
	return v
}

// Embed looks the tokens up and adds their positions.
func (v *Vector) Embed(t Tokens) State {
	h := v.embed(t)
	if v.x0 != nil {
		return v.beginBlock(x0State{VectorState{h}, h}, 0)
	}
	return VectorState{h}
}

// Sites are attention and feed-forward, or attention alone.
func (v *Vector) Sites(block int) []Site { return v.c.sites(block) }

// ReadHeads is Norm, then W_QKV; heads are contiguous columns.
func (v *Vector) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	h := v.attention[at.Block]
	u := h.norm.Forward(s.(WithVector).Vector()) // [T, D]
	return h.read(u), nil                        // [T, W + 2 KV Dh]
}

// WriteHeads adds W_O o.
func (v *Vector) WriteHeads(s State, at Site, _ Link, o *gorgonia.Node) State {
	return v.Add(s, at, v.HeadsOutput(at, o))
}

// ReadFeatures is Norm.
func (v *Vector) ReadFeatures(s State, at Site) (*gorgonia.Node, Link) {
	return v.features[at.Block].Forward(s.(WithVector).Vector()), nil
}

// WriteFeatures adds y.
func (v *Vector) WriteFeatures(s State, at Site, _ Link, y *gorgonia.Node) State {
	return v.Add(s, at, y)
}

// HeadsOutput is W_O o, what attention adds: [T, H, Dh] -> [T, D].
func (v *Vector) HeadsOutput(at Site, o *gorgonia.Node) *gorgonia.Node {
	return v.attention[at.Block].write(o)
}

// Add is h + y with y [T, D], for a stream that embeds a Vector and adds something else than what
// the sublayer gives; y has the hook "blocks.0.attention.write", the sum ".stream".
func (v *Vector) Add(s State, at Site, y *gorgonia.Node) State {
	state, y := s.(WithVector), elementwise.Dropout(v.b, y, v.c.Dropout) // [T, D]
	if v.scales != nil {
		return v.addScaled(state, at, y)
	}
	y = v.b.Hook(at.Name()+".write", y, "feature")
	return state.WithVector(v.b.Hook(at.Name()+".stream", v.b.Add(state.Vector(), y), "feature"))
}

// EndBlock begins the next block, which only the option x0 makes something of.
func (v *Vector) EndBlock(s State, block int) State {
	if v.x0 == nil || block+1 == v.c.Layers {
		return s
	}
	return v.beginBlock(s.(x0State), block+1)
}

// Features is the final norm.
func (v *Vector) Features(s State) *gorgonia.Node { return v.norm.Forward(s.(WithVector).Vector()) }

// Form is h' = h + F(h): nothing is chosen but by options.
func (v *Vector) Form(at Site) Form {
	return v.optionsForm(at, plainForm(at, "Radford et al. 2019 (GPT-2); He et al. 2016, arXiv 1603.05027"))
}
