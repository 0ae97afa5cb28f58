package stream

import (
	"cmp"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/shape"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// VWNConfig describes a virtual width network.
type VWNConfig struct {
	Vectors
	N      int  `yaml:"n" default:"required" max:"4096" help:"number of slots a token"`
	M      int  `yaml:"m" default:"required" max:"4096" help:"number of slots, of d_model / m each, that a sublayer reads"`
	Expand bool `yaml:"expand_embedding" help:"embed d_model entries and multiply by W_expand, instead of embedding n slots"`
}

// Name returns "vwn".
func (VWNConfig) Name() string { return "vwn" }

// Card describes a virtual width network.
func (VWNConfig) Card() layers.Card {
	return layers.Card{
		Title: "Virtual width network",
		Equation: "[A_down | A_carry | B'] = static + S ⊙ tanh(Hn [W_a | W_b] / sqrt(d))\n" +
			"u = A_down^T H;   H <- B' F(u) + A_carry^T H\n" +
			"logits = Norm(GroupNorm(H) W_reduce) W_U          H is n x d, d = D/m",
		Source: "ByteDance 2025, virtual width networks",
		Use: "A stream, and an embedding, n/m times as wide as what the sublayers work on: width of representation for a small share of the FLOPs. With " +
			"a large vocabulary most of what it adds in parameters is the wider embedding, unless expand_embedding makes it from one of D entries. No group " +
			"norm where n/m is not whole.",
	}
}

// Check returns an error unless D is divisible into m slots and there are at least m slots.
func (c VWNConfig) Check() error {
	if err := cmp.Or(c.Vectors.Check(), layers.CheckSize("n", c.N), layers.CheckSize("m", c.M)); err != nil {
		return err
	}
	switch {
	case c.D%c.M != 0:
		return layers.Setting("m", "want a divisor of d_model %d, got %d", c.D, c.M)
	case c.N < c.M:
		return layers.Setting("n", "want at least m %d, the slots that a sublayer reads, got %d", c.M, c.N)
	case c.Tied && c.Shape().TableWidth != c.D:
		return layers.Setting("tie_embeddings", "want expand_embedding with it for the %s stream, whose embedding is wider than d_model", c.Name())
	}
	return nil
}

// Shape returns the shape of a stream of N slots of D/M entries. The tables have N slots, too, or
// with Expand D entries.
func (c VWNConfig) Shape() Shape {
	s := c.shape(c.N * c.D / max(1, c.M))
	if !c.Expand {
		s.TableWidth = s.Size
	}
	return s
}

// Plain returns a vector stream: the first m slots are h, which is what W_reduce = [I; 0] reads. It
// returns false if the groups' norm, a LayerNorm, is followed by an RMSNorm, which does not undo
// its effect.
func (c VWNConfig) Plain() (Design, bool) {
	return c.plain(c.N%c.M != 0 || !c.Norm.RMS)
}

// SetPlain writes the transformer's tables, or with Expand the identity, into the first m slots,
// and W_reduce = [I; 0], which reads them.
func (c VWNConfig) SetPlain(own, plain *graph.Store) error {
	wide := c.Shape().Size
	for _, p := range plain.Params() {
		to := own.Param(p.Name)
		if to == nil || to.Size() == p.Size() {
			continue
		}
		if err := setFirstColumns(to, wide, graph.Float64s(p.Value), c.D); err != nil {
			return err
		}
	}
	identity := table(c.D, c.D, kronecker)
	if p := own.Param(expandName); p != nil {
		if err := setFirstColumns(p, wide, identity, c.D); err != nil {
			return err
		}
	}
	return graph.SetFloat64s(own.Param(reduceName).Value, append(identity, make([]float64, (wide-c.D)*c.D)...))
}

// setFirstColumns writes rows x of the given width into the first columns of a parameter.
func setFirstColumns(p *graph.Param, columns int, x []float64, width int) error {
	values := graph.Float64s(p.Value)
	for i, v := range x {
		values[i/width*columns+i%width] = v
	}
	return graph.SetFloat64s(p.Value, values)
}

// Cost counts the coefficients, the groups' norm, and the maps that expand and reduce.
func (c VWNConfig) Cost() layers.Cost {
	shape, p := c.Shape(), packing{n: c.N, m: c.M}
	wide, k, n, d, slot := float64(shape.Size), float64(p.columns()), float64(c.N), float64(c.D), float64(c.D/c.M)
	coefficients := layers.Cost{Parameters: 2*n*k + slot + slot*k, FLOPs: 2 * wide * k, Activations: 2 * n * k}
	total := c.tablesCost(float64(shape.TableWidth)).Plus(c.rowSitesCost(p, wide, coefficients))
	total = total.Plus(layers.LinearCost(wide, d, false), layers.ActivationCost(wide)) // the map reduce and its input
	if c.N%c.M == 0 {
		total = total.Plus(layers.Cost{Parameters: wide, Activations: wide}) // the groups' norm
	}
	if c.Expand {
		total = total.Plus(layers.LinearCost(d, wide, false), layers.ActivationCost(d))
	}
	return total
}

// New makes the parameters of a virtual width network.
func (c VWNConfig) New(b *graph.Builder) Stream {
	p, d := packing{n: c.N, m: c.M}, c.D/c.M
	wide := c.N * d
	v := &vwn{rows: rows{packing: p}}
	if c.Expand {
		v.Vector = startVector(b, c.Vectors)
		v.expand = v.weight(expandName, c.D, wide)
	} else {
		v.Vector = startVector(b, c.Vectors, c.N, d)
	}
	v.addSites(func(at Site) RowMixer {
		name, s := at.Name()+".vwn", rowStarts{"I", "[I 0]", "1 where j = i mod m", "ByteDance 2025, virtual width networks"}
		gain, w := b.Param(layers.Gain(name+".norm", d)), b.Param(decaying(name+".w", d, p.columns()))
		static, scale := b.Param(constant(name+".static", p.plain(), c.N, p.columns())), b.Param(layers.Gain(name+".scale", c.N, p.columns()))
		return tanhMixer(b, p, s, static, gain, w, scale, norm.Options{RMS: true, Eps: c.Norm.Eps}, 1/math.Sqrt(float64(d)))
	})
	if c.N%c.M == 0 {
		v.groupNorm = b.Param(layers.Gain("group_norm", c.N/c.M, c.D))
	}
	v.reduce = v.weight(reduceName, wide, c.D)
	v.addLastNorm()
	v.Use(v)
	return v
}

// vwn is the stream of virtual width networks (ByteDance 2025, generalised
// hyper-connections): n slots H [n, d] of d = D/m entries, r = n/m times as wide as what
// sublayers work on. With Hn the slots, each normalised by RMSNorm,
//
//	[A_down | A_carry | B'] = static + S ⊙ tanh(Hn [W_a | W_b] / sqrt(d))
//	u = A_down^T H;   H <- B' F(u) + A_carry^T H
//	features = Norm(GroupNorm(H) W_reduce)
//
// with u's m slots side by side, D entries. GroupNorm divides the n*d entries into groups of D and
// normalises each group; if they do not divide evenly there is no GroupNorm. At first W = 0, S = 1,
// A_down = [I; 0], A_carry = I and B'[i, j] = 1 if j = i mod m.
//
// Parameters of a site: "vwn.norm" [d], "vwn.w" [d, 2m+n], "vwn.static" and "vwn.scale"
// [n, 2m+n]; of the model: the embedding and the positions [.., n, d], or [.., D] and "expand"
// [D, n*d], "group_norm" [r, D], "reduce" [n*d, D].
type vwn struct {
	rows
	expand            *gorgonia.Node // [D, n*d], or nil
	groupNorm, reduce *gorgonia.Node // [r, D] or nil; [n*d, D]
}

// The names of the maps into and out of the slots.
const (
	expandName = "expand"
	reduceName = "reduce"
)

// Embed looks up the tokens as n slots.
func (v *vwn) Embed(t Tokens) State {
	h := v.lookUp(t) // [T, n, d], or [T, D]
	if v.expand != nil {
		h = shape.Reshape(v.b, mapped(v.b, h, v.expand, nil), v.n, v.c.D/v.m) // [T, n, d]
	}
	return VectorState{H: v.b.Hook("embedding.out", h, "row", "feature")}
}

// End reduces the slots to D entries.
func (v *vwn) End(s State) *gorgonia.Node {
	h := s.(VectorState).H // [T, n, d]
	if v.groupNorm != nil {
		h = norm.Apply(v.b, h, v.groupNorm, norm.Options{Eps: v.c.Norm.Eps, Groups: v.groupNorm.Shape()[0]}) // [T, n, d]
	}
	return mapped(v.b, h, v.reduce, nil) // [T, D]
}

// Carry carries what sites write through the products of A_carry. Without a run the stream is a
// plain residual stream in the first m slots, and every other slot equals the one with its number
// mod m.
func (v *vwn) Carry(f *Frozen) {
	var tables linear.Map = linear.Identity(v.n * v.c.D / v.m)
	if v.expand != nil {
		tables = v.matrix(v.expand)
	}
	v.carryRows(f, tables, linear.Identity(v.n*v.c.D/v.m))
	f.output.after = v.afterEnd
}

// afterEnd freezes the group norm, W_reduce and the final norm at the ends [T, n*d].
func (v *vwn) afterEnd(end []float64) (maps linear.Chain, bias []float64) {
	if v.groupNorm != nil {
		norm := linear.Norm{Gain: v.values(v.groupNorm), Centre: true, Groups: v.groupNorm.Shape()[0]}
		maps = linear.Chain{norm.At(end, orEps(v.c.Norm.Eps))}
	}
	maps = append(maps, v.matrix(v.reduce))
	last, bias := v.thenNorm(v.norm)(maps.ApplyAll(end)) // [T, D]
	return append(maps, last...), bias
}
