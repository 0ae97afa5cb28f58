package stream

import (
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/layers"
)

// HighwayConfig describes a highway stream.
type HighwayConfig struct{ Vectors }

// Name is "highway".
func (HighwayConfig) Name() string { return "highway" }

// Card describes the Highway Transformer.
func (HighwayConfig) Card() layers.Card {
	return layers.Card{
		Title:    "Highway Transformer",
		Equation: "h <- h + F(h) + SDU(Norm(h));   SDU(x) = sigmoid(W1 x) ⊙ (W2 x)",
		Source:   "Chai et al. 2020, ACL: self-dependency units",
		Use:      "A gated look of each token at itself next to every sublayer, 4 D^2 parameters a block more. Its authors report faster convergence. What it adds is ordinary matrix products, so that it runs at full speed.",
	}
}

// Defaults changes nothing.
func (c HighwayConfig) Defaults() Design { return c }

// Check wants sizes that fit together.
func (c HighwayConfig) Check() error { return c.check() }

// Shape is that of one vector a token.
func (c HighwayConfig) Shape() Shape { return c.shape(c.D) }

// Plain is a vector stream: a unit with W2 = 0 adds nothing.
func (c HighwayConfig) Plain() (Design, bool) { return VectorConfig{Vectors: c.Vectors}, true }

// SetPlain sets W2 and its bias to 0 in every unit, so that units add nothing.
func (c HighwayConfig) SetPlain(own, _ *graph.Store) error {
	for _, p := range own.Params() {
		if !strings.HasSuffix(p.Name, unitSuffix) && !strings.HasSuffix(p.Name, unitBiasSuffix) {
			continue
		}
		packed := graph.Float64s(p.Value) // [D, 2D] or [2D]: W1, then W2
		for i := range packed {
			if i%(2*c.D) >= c.D {
				packed[i] = 0
			}
		}
		if err := graph.SetFloat64s(p.Value, packed); err != nil {
			return err
		}
	}
	return nil
}

// Cost is a vector stream's and that of the units, each kept before its gate.
func (c HighwayConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	unit := layers.LinearCost(d, 2*d, c.Bias).Plus(layers.ActivationCost(2 * d))
	return c.cost().Plus(c.lastNormCost()).Plus(unit.Times(2 * blocks))
}

// New is newHighway.
func (c HighwayConfig) New(b *graph.Builder) Stream { return newHighway(b, c) }

// highway is the residual stream of the Highway Transformer (Chai et al. 2020, ACL): a
// vector stream whose sublayers have a self-dependency unit in parallel, which gates the
// normalised input xn with itself,
//
//	h <- h + F(xn) + SDU(xn);  SDU(x) = sigmoid(W1 x) ⊙ (W2 x);  xn = Norm(h)
//
// W1 and W2 are one parameter, "blocks.3.attention.sdu" [D, 2D], side by side. W2 starts
// as small as what else is added to the stream. The gate is the paper's default, the
// sigmoid.
type highway struct {
	*Vector
	units []unit // by Site.Index
}

// The ends of the names of a unit's parameters.
const (
	unitSuffix     = ".sdu"
	unitBiasSuffix = ".sdu_bias"
)

// unit is one site's self-dependency unit.
type unit struct {
	w    *gorgonia.Node // [D, 2D]: W1 and W2
	bias *gorgonia.Node // [2D], or nil
}

// highwayLink is the normalised input of a sublayer, xn [T, D].
type highwayLink struct{ Normal *gorgonia.Node }

// newHighway makes the parameters of a highway stream: those of a vector stream and the
// units'.
func newHighway(b *graph.Builder, c HighwayConfig) *highway {
	h := &highway{Vector: NewVector(b, VectorConfig{Vectors: c.Vectors})}
	for l := range c.Layers {
		for _, site := range twoSites(l) {
			h.units = append(h.units, newUnit(b, c.Vectors, site.Name()))
		}
	}
	return h
}

func newUnit(b *graph.Builder, c Vectors, site string) unit {
	name := site + unitSuffix
	w := c.Init.Hidden(name, c.D, c.WidthRatio, c.D, 2*c.D)
	w.Init.Second = c.Init.Output(name, c.D, c.WidthRatio).Init.Std
	w.Columns = []int{c.D, c.D}
	u := unit{w: b.Param(w)}
	if c.Bias {
		u.bias = b.Param(layers.Zero(site+unitBiasSuffix, 2*c.D))
	}
	return u
}

// ReadHeads is Norm, then W_QKV; the link is what Norm gives.
func (h *highway) ReadHeads(s State, at Site) (*gorgonia.Node, Link) {
	a := h.attention[at.Block]
	normal := a.norm.Forward(s.(VectorState).H) // [T, D]
	return a.read(normal), highwayLink{normal}  // [T, 3W]
}

// WriteHeads adds W_O o and the unit's output.
func (h *highway) WriteHeads(s State, at Site, link Link, o *gorgonia.Node) State {
	return h.addGated(s, at, link, h.HeadsOutput(at, o))
}

// ReadFeatures is Norm, which is also the link.
func (h *highway) ReadFeatures(s State, at Site) (*gorgonia.Node, Link) {
	normal := h.features[at.Block].Forward(s.(VectorState).H) // [T, D]
	return normal, highwayLink{normal}
}

// WriteFeatures adds y and the unit's output.
func (h *highway) WriteFeatures(s State, at Site, link Link, y *gorgonia.Node) State {
	return h.addGated(s, at, link, y)
}

// addGated adds y and the unit's output to the stream, in one pass unless their sum loses
// entries or is hooked.
func (h *highway) addGated(s State, at Site, link Link, y *gorgonia.Node) State {
	u, x, write := h.units[at.Index], s.(VectorState).H, at.Name()+".write"
	packed := linear.Map(h.b, link.(highwayLink).Normal, u.w, linear.Options{Bias: u.bias}) // [T, 2D]
	if unit := at.Name() + unitSuffix; h.b.Hooked(unit) {
		return h.Add(s, at, h.b.Add(y, h.b.Hook(unit, elementwise.GLU(h.b, packed), "feature")))
	}
	if h.b.Hooked(write) || h.b.Training() && h.c.Dropout > 0 {
		return h.Add(s, at, elementwise.GLU(h.b, packed, y))
	}
	return VectorState{h.b.Hook(at.Name()+".stream", elementwise.GLU(h.b, packed, x, y), "feature")} // [T, D]
}

// Form is a vector stream's with the unit added.
func (h *highway) Form(at Site) Form {
	f := plainForm(at, "Chai et al. 2020, ACL (Highway Transformer)")
	unit := h.units[at.Index]
	f.Beyond = []Term{{Text: "h' has a third term, the gated sigmoid(W1 xn) ⊙ (W2 xn) of xn = Norm(h)", Parameters: nodeNames(unit.w, unit.bias)}}
	return f
}
