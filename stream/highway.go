package stream

import (
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// HighwayConfig describes a highway stream.
type HighwayConfig struct{ Vectors }

// Name returns "highway".
func (HighwayConfig) Name() string { return "highway" }

// Card describes the Highway Transformer.
func (HighwayConfig) Card() layers.Card {
	return layers.Card{
		Title:    "Highway Transformer",
		Equation: "h <- h + F(h) + SDU(Norm(h));   SDU(x) = sigmoid(W1 x) ⊙ (W2 x)",
		Source:   "Chai et al. 2020, ACL: self-dependency units",
		Use: "A gated look of each token at itself next to every sublayer, 4 D^2 parameters a block more. Its authors report faster convergence. What " +
			"it adds is ordinary matrix products, so that it runs at full speed.",
	}
}

// Plain returns a vector stream: a unit with W2 = 0 adds nothing.
func (c HighwayConfig) Plain() (Design, bool) { return c.plain(true) }

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

// Cost adds the units to a vector stream's cost. What each unit's two maps compute is kept for the
// gradient of its gate.
func (c HighwayConfig) Cost() layers.Cost {
	d, _, blocks := c.counts()
	unit := layers.LinearCost(d, 2*d, c.Bias).Plus(layers.ActivationCost(2 * d))
	return c.Vectors.Cost().Plus(unit.Times(2 * blocks))
}

// New makes the parameters of a highway stream: those of a vector stream and those of the units.
func (c HighwayConfig) New(b *graph.Builder) Stream {
	h := &highway{Vector: newVector(b, c.Vectors)}
	for _, at := range c.AllSites() {
		name := at.Name() + unitSuffix
		w := c.Init.Hidden(name, c.D, c.WidthRatio, c.D, 2*c.D)
		w.Init.Second = c.Init.Output(name, c.D, c.WidthRatio).Init.Std
		w.Columns = []int{c.D, c.D}
		u := unit{w: b.Param(w)}
		if c.Bias {
			u.bias = b.Param(layers.Zero(at.Name()+unitBiasSuffix, 2*c.D))
		}
		h.units = append(h.units, u)
	}
	h.Use(h)
	return h
}

// highway is the residual stream of the Highway Transformer (Chai et al. 2020, ACL): a
// vector stream whose sublayers have a self-dependency unit in parallel, which gates the
// normalised input xn with itself,
//
//	h <- h + F(xn) + SDU(xn);  SDU(x) = sigmoid(W1 x) ⊙ (W2 x);  xn = Norm(h)
//
// W1 and W2 lie side by side in one parameter, "blocks.3.attention.sdu" [D, 2D]. W2 starts as small
// as other weights that write to the stream. The gate is the paper's default, the sigmoid.
type highway struct {
	*Vector
	units []unit // by Site.Index
}

// The ends of the names of a unit's parameters.
const (
	unitSuffix     = ".sdu"
	unitBiasSuffix = ".sdu_bias"
)

// unit holds the parameters of one site's self-dependency unit.
type unit struct {
	w    *gorgonia.Node // [D, 2D]: W1 and W2
	bias *gorgonia.Node // [2D], or nil
}

// Write adds y and the unit's output to the stream, in one pass unless dropout or a hook needs
// their sum separately.
func (h *highway) Write(s State, at Site, from Reading, y *gorgonia.Node) State {
	u, unit := h.units[at.Index], at.Name()+unitSuffix
	packed := mapped(h.b, from.Normal, u.w, u.bias) // [T, 2D]
	if h.b.Hooked(unit) {
		return h.Add(s, at, h.b.Add(y, h.b.Hook(unit, elementwise.GLU(h.b, packed), "feature")))
	}
	if h.b.Hooked(at.Name()+".write") || h.b.Training() && h.c.Dropout > 0 {
		return h.Add(s, at, elementwise.GLU(h.b, packed, y))
	}
	return VectorState{H: h.Hook(at, ".stream", elementwise.GLU(h.b, packed, s.(VectorState).H, y))} // [T, D]
}

// Form describes a vector stream, with the unit in addition.
func (h *highway) Form(at Site) Form {
	f, unit := plainForm(at, "Chai et al. 2020, ACL (Highway Transformer)"), h.units[at.Index]
	f.Beyond = []Term{{"h' has a third term, the gated sigmoid(W1 xn) ⊙ (W2 xn) of xn = Norm(h)", nodeNames(unit.w, unit.bias)}}
	return f
}

// Writers lists a vector stream's writers and the self-dependency units.
func (h *highway) Writers() []Writer {
	writers := h.Vector.Writers()
	for _, at := range h.c.AllSites() {
		name := at.Name() + unitSuffix
		writers = append(writers, Writer{Name: name, Parts: 1, Activation: name, Reads: 2 * h.c.D, Source: name})
	}
	return writers
}

// Carry carries what sites and units write unchanged to the end: a unit's gate is part of its term.
func (h *highway) Carry(f *Frozen) {
	one := linear.Identity(h.c.D)
	h.CarrySites(f, one, func(at Site) {
		h.carrySite(f, at, 1)
		f.Write(at.Name()+unitSuffix, one)
	})
	h.CarryEnd(f, one)
}
