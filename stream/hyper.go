package stream

import (
	"cmp"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/layers"
)

// HyperConfig describes a stream with hyper-connections.
type HyperConfig struct {
	Vectors
	RowOptions
	N       int  `yaml:"n" default:"4" max:"4096" help:"number of rows, the expansion rate"`
	Dynamic bool `yaml:"dynamic" help:"the coefficients depend on the stream"`
}

// defaultRows is the number of rows, the expansion rate, of hyper-connections of all kinds.
const defaultRows = 4

// Name returns "hyper".
func (HyperConfig) Name() string { return "hyper" }

// Card describes hyper-connections, static or dynamic.
func (c HyperConfig) Card() layers.Card {
	if c.Dynamic {
		return layers.Card{
			Title: "Hyper-connections, dynamic",
			Equation: "A_m += s_a tanh(Hn W_m);   A_r += s_a tanh(Hn W_r);   B += s_b tanh(Hn W_b)^T\n" +
				"u = A_m^T H;   H <- B^T F(u) + A_r^T H          Hn: rows of H, normalised",
			Source: "Zhu et al. 2024, arXiv 2409.19606, eq. 10-13",
			Use: "As static, with mixing that depends on the token. The paper's stronger form. A_r has no bound: over many blocks the product of mixings " +
				"can grow (by about 3000 in a 27B model, as arXiv 2512.24880 reports).",
		}
	}
	return layers.Card{
		Title: "Hyper-connections, static",
		Equation: "u = A_m^T H;   H <- B^T F(u) + A_r^T H\n" +
			"logits = Norm(sum of rows) W_U          H is n x D, A_m, A_r and B learned",
		Source: "Zhu et al. 2024, arXiv 2409.19606, eq. 2",
		Use: "n copies of the stream, read, written and mixed with n(n+2) numbers a site: each site learns how much of which depth it wants. Almost free " +
			"in parameters, n times the stream in memory. With n = 1 it is worse than the baseline.",
	}
}

// Variant returns "static" or "dynamic".
func (c HyperConfig) Variant() string {
	if c.Dynamic {
		return "dynamic"
	}
	return "static"
}

// Defaults sets 4 rows.
func (c HyperConfig) Defaults() Design {
	c.N, c.RowOptions = orDefault(c.N, defaultRows), c.defaults()
	return c
}

// Check returns an error unless there is at least one row.
func (c HyperConfig) Check() error {
	return cmp.Or(c.Vectors.Check(), layers.CheckSize("n", c.N), c.RowOptions.check())
}

// Idle counts the last site's A_m, if nothing uses what is read by it.
func (c HyperConfig) Idle(name string, shape []int) int {
	at, rest := c.siteOf(name)
	if !strings.HasPrefix(rest, "hyper.") || len(shape) < 2 || !c.unread(at, c.Common) {
		return 0
	}
	return shape[0]
}

// Shape returns the shape of a stream of N rows.
func (c HyperConfig) Shape() Shape { return c.kept(c.shape(c.N * c.D)) }

// Plain returns a vector stream: sites read one of n equal rows and write to all of them, and the
// norm at the end maps a sum of n equal rows to the same features as one row.
func (c HyperConfig) Plain() (Design, bool) { return c.plain(true) }

// Cost counts the coefficients; dynamic ones are kept, and so is the product from which they are
// computed.
func (c HyperConfig) Cost() layers.Cost {
	n, d, k := float64(c.N), float64(c.D), float64(packing{n: c.N, m: 1}.columns())
	coefficients := layers.Cost{Parameters: n * k}
	if c.Dynamic {
		coefficients = coefficients.Plus(layers.Cost{Parameters: d + d*k + 2, FLOPs: 2 * n * d * k, Activations: 2 * n * k})
	}
	return c.RowsCost(c.N, false, coefficients).Plus(c.RowOptions.cost(c.Vectors, c.N))
}

// New makes the parameters of a stream with hyper-connections (Zhu et al. 2024, arXiv 2409.19606):
// n rows H [n, D] that start as copies of the embedding; each site reads a mixture and writes to
// every row, and the rows are mixed (eq. 2),
//
//	u = A_m^T H;   H <- B^T F(u) + A_r^T H;   features = Norm(sum of rows)
//
// Static: A_m [n, 1], A_r [n, n] and B [1, n] are parameters. Dynamic (eq. 10-13): with Hn
// the rows, each normalised,
//
//	A_m += s_a tanh(Hn W_m);   A_r += s_a tanh(Hn W_r);   B += s_b tanh(Hn W_b)^T
//
// At first B = 1, A_m is the row (site mod n), A_r = I, W = 0 and s = 0.01, which makes it a vector
// stream up to the last norm's eps. A_m, A_r and B do not decay. The paper's scaling of output
// weights by sqrt(n) is left out, because the paper does not say in which direction.
//
// Parameters of a site: "hyper.static" [n, n+2], columns A_m | A_r | B^T; dynamic also
// "hyper.norm" [D], "hyper.w" [D, n+2], columns W_m | W_r | W_b, and "hyper.scale" [2].
func (c HyperConfig) New(b *graph.Builder) Stream {
	return newRows(b, c.Vectors, packing{n: c.N, m: 1}, c.RowOptions, func(at Site) RowMixer {
		name, p := at.Name()+".hyper", packing{n: c.N, m: 1}
		s := rowStarts{"I", "1 at row (site mod n)", "1", "Zhu et al. 2024, arXiv 2409.19606"}
		static := b.Param(constant(name+".static", p.pack(
			func(i, _ int) float64 { return indicator(i == c.first(at)%c.N) }, kronecker,
			func(_, _ int) float64 { return 1 }), c.N, p.columns()))
		if !c.Dynamic {
			return RowMixer{Coefficients: func(*gorgonia.Node) *gorgonia.Node { return static }, Form: func() Form { return s.form(b, p, Learned, static) }}
		}
		gain, w := b.Param(layers.Gain(name+".norm", c.D)), b.Param(decaying(name+".w", c.D, p.columns()))
		scale := b.Param(constant(name+".scale", []float64{0.01, 0.01}, 2))
		return tanhMixer(b, p, s, static, gain, w, scale, norm.Options{RMS: c.Norm.RMS, Eps: c.Norm.Eps}, 1)
	}, nil)
}

// tanhMixer returns a mixer that computes static + scale ⊙ tanh(tau Norm(h) w), row by row; it
// starts as static.
func tanhMixer(b *graph.Builder, p packing, s rowStarts, static, gain, w, scale *gorgonia.Node, o norm.Options, tau float64) RowMixer {
	return ProjectedMixer(b, mix.Projection{W: w, Gain: gain, Norm: o}, func(z *gorgonia.Node) *gorgonia.Node {
		return mix.TanhCoefficients(b, z, static, scale, tau) // of z [T, n, 2m+n]
	}, func() Form { return s.form(b, p, Dependent, static, gain, w, scale) })
}

// rowStarts describes in words the initial values of A_res, A_down and B_up, and names the source.
type rowStarts struct{ res, down, up, source string }

// form returns the form with the initial values of static, which is the first of the parameters.
func (s rowStarts) form(b *graph.Builder, p packing, choice Choice, parameters ...*gorgonia.Node) Form {
	f := mixedForm(p, s.source, choice, parameters...)
	f.startPacked(p, startOf(b, parameters[0]).Values, s.res, s.down, s.up)
	return f
}
