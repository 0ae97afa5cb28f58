package stream

import (
	"cmp"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// IHCConfig describes a stream with independent hyper-connections.
type IHCConfig struct {
	Vectors
	RowOptions
	N         int     `yaml:"n" default:"4" max:"4096" help:"number of rows"`
	Static    bool    `yaml:"static" help:"the factors do not depend on the stream"`
	Raw       bool    `yaml:"raw" help:"OLMo-core's form: the projection reads the rows as they are, and a site reads one row at first"`
	Magnitude float64 `yaml:"magnitude" default:"2" help:"largest factor by which a site writes to a row"`
	CoefEps   float64 `yaml:"coef_eps" help:"added to all factors; Hy4 has 1e-6"`
}

// Name returns "ihc".
func (IHCConfig) Name() string { return "ihc" }

// Variant returns "static" or "dynamic".
func (c IHCConfig) Variant() string {
	if c.Static {
		return "static"
	}
	return "dynamic"
}

// Card describes independent hyper-connections.
func (c IHCConfig) Card() layers.Card {
	card := layers.Card{
		Title: "Independent hyper-connections",
		Equation: "z = alpha (x phi) + b,   x = vec(X)/rms(vec X);   pre = sigmoid(z_pre);   post = 2 sigmoid(z_post)\n" +
			"X_i <- X_i + post_i F(sum_i pre_i X_i)\n" +
			"logits = Norm(sum_i h_i X_i) W_U          h = sigmoid(alpha' (x phi') + b')",
		Source: "Tencent Hy4 (transformers, hy_v4); with raw, a fork of OLMo-core",
		Use: "mHC without its mixing: rows are never mixed, each is read and written by a factor of the token's own, and the last norm reads them by " +
			"such factors, too. Writing is an addition whose gradient passes through unchanged, so that it is the cheapest of the dynamic hyper-connections. " +
			"It starts 0.07% off the transformer: rows that were written to alike would never differ.",
	}
	if c.Static {
		card.Title += ", static"
		card.Equation = "X_i <- X_i + 2 sigmoid(b_i) F(sum_i sigmoid(a_i) X_i)\n" +
			"logits = Norm(sum_i sigmoid(a'_i) X_i) W_U          a, b learned, of each site"
		card.Use = "The same with factors that are numbers: the wide residual's streams, whose writes all start at 1. As rows that start alike stay alike, " +
			"take it with a single pass, where a site reads one row at first."
	}
	return card
}

// Defaults sets 4 rows, a magnitude of 2 and a gated head.
func (c IHCConfig) Defaults() Design {
	c.N, c.Magnitude, c.Head = orDefault(c.N, defaultRows), orDefault(c.Magnitude, 2), cmp.Or(c.Head, headGated)
	return c
}

// Check returns an error unless there is at least one row, and the factors are bounded.
func (c IHCConfig) Check() error {
	err := cmp.Or(c.Vectors.Check(), layers.CheckSize("n", c.N), layers.CheckPositive("magnitude", c.Magnitude), c.RowOptions.check())
	switch {
	case err != nil:
		return err
	case !(c.CoefEps >= 0 && c.CoefEps < 1):
		return layers.Setting("coef_eps", "want at least 0 and below 1, got %g", c.CoefEps)
	case c.Static && c.Raw:
		return layers.Setting("raw", "want static: false with it, got both: static factors read nothing")
	}
	return nil
}

// Idle returns the number of a parameter's entries that have no effect: all of the last site's pre
// factors, if nothing reads by them.
func (c IHCConfig) Idle(name string, shape []int) (entries int) {
	at, rest := c.siteOf(name)
	if !strings.HasPrefix(rest, ihcName[1:]+".") || !c.unread(at, c.Common) {
		return 0
	}
	entries = 1
	for _, size := range shape {
		entries *= size
	}
	return entries / 2
}

// Shape returns the shape of a stream of N rows.
func (c IHCConfig) Shape() Shape { return c.kept(c.shape(c.N * c.D)) }

// Plain returns a vector stream: each site writes to every row with the factor 1, so that all rows
// stay equal, and the sublayer's norm cancels the sum of the weights by which a site reads them.
func (c IHCConfig) Plain() (Design, bool) { return c.plain(c.CoefEps == 0 && c.Magnitude == 2) }

// SetPlain sets phi to 0: otherwise rows are written to by factors that differ a little.
func (c IHCConfig) SetPlain(own, _ *graph.Store) error {
	if c.Static || c.Raw {
		return nil
	}
	for _, at := range c.AllSites() {
		phi := own.Param(c.Loop.Parameter(at.Name() + ihcName + ".phi")).Value
		if err := graph.SetFloat64s(phi, make([]float64, phi.Shape().TotalSize())); err != nil {
			return err
		}
	}
	return nil
}

// packing returns the layout of a site's factors.
func (c IHCConfig) packing() packing { return packing{n: c.N, m: 1, unmixed: true} }

// Cost counts the factors, and the projection from which dynamic ones are computed.
func (c IHCConfig) Cost() layers.Cost {
	k, size := float64(2*c.N), float64(c.N*c.D)
	gates, head := layers.Cost{Parameters: k}, c.RowOptions.cost(c.Vectors, c.N)
	if !c.Static {
		gates = layers.Cost{Parameters: size*k + k + 2, FLOPs: 2 * size * k, Activations: 2 * k}
	} else if c.Head == headGated {
		head = layers.Cost{Parameters: k / 2, FLOPs: 2 * size, Activations: size}
	}
	return c.RowsCost(c.N, true, gates).Plus(head)
}

// New makes the parameters of a stream with independent hyper-connections (Tencent Hy4,
// transformers' hy_v4): n rows X [n, D] that start as copies of the embedding, with x =
// vec(X)/rms(vec X), one RMS over all n*D entries, or vec X with Raw,
//
//	z = alpha (x phi) + b                        pre [n] | post [n], an alpha each
//	pre = sigmoid(z_pre) + e;   post = magnitude sigmoid(z_post) + e
//	X_i <- X_i + post_i F(sum over i of pre_i X_i)
//
// Rows are not mixed. At first phi is N(0, 0.006^2), alpha 0.01, sigmoid(b_pre) 1/n and b_post 0;
// with Raw phi is 0 and b_pre 5 at row (site mod n), -5 at the others. Static factors have no phi
// and no alpha. b and alpha do not decay.
//
// Parameters of a site: "ihc.phi" [n*D, 2n], "ihc.alpha" [2], "ihc.b" [2n].
func (c IHCConfig) New(b *graph.Builder) Stream {
	gates := rowGates{n: c.N, writes: true, static: c.Static, raw: c.Raw, factor: c.Magnitude, eps: c.CoefEps}
	head := gates
	head.writes = false
	return newRows(b, c.Vectors, c.packing(), c.RowOptions, func(at Site) RowMixer {
		site := c.first(at)
		return gates.mixer(b, c.Vectors, at.Name()+ihcName, site, func(parameters gorgonia.Nodes) Form {
			return c.form(parameters, gates.readStart(site))
		})
	}, &head)
}

// ihcName is the part of the names of parameters after the site's.
const ihcName = ".ihc"

// form describes a factor for each row by which it is read and written.
func (c IHCConfig) form(parameters gorgonia.Nodes, read []float64) Form {
	choice, text, write := Dependent, "about 1/n", "about 1"
	switch {
	case c.Static:
		choice, text, write = Learned, "1/n", "1"
	case c.Raw:
		text, write = "sigmoid(5) at row (site mod n), sigmoid(-5) elsewhere", "1"
	}
	f := RowsForm(c.N, true, "Tencent Hy4 (transformers, hy_v4)", choice, parameters...)
	f.Down.Constraint, f.Up.Constraint = WithinOne, WithinTwo
	f.Down.Start = Start{text, opened(1, read)}
	f.Up.Start = even(c.N, write, c.Magnitude/2)
	return f
}
