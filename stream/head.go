package stream

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/layers"
)

// RowOptions hold settings of streams of n rows X [n, D]: how sites and the last norm read them.
//
// With a single pass (DeepSeek-V4.1, transformers' pull request 48755) the coefficients computed
// from X_k carry and write at site k, and read for the site after it, so that the rows pass through
// the processor once a site:
//
//	c_0 = row 0;   X_(k+1) = H_k X_k + post_k^T F(c_k);   c_(k+1) = pre_k . X_(k+1)
//
// The last norm reads the rows' sum or mean, what the last site's coefficients read (carried), or
//
//	sum over i of h_i X_i,   h = sigmoid(alpha (x phi) + b) + eps,   x = vec(X)/rms(vec X)       (gated)
//
// as DeepSeek-V4 and Tencent's Hy4 do. At first phi is N(0, 0.006^2), alpha 0.01 and sigmoid(b)
// 1/n.
//
// Parameters: "head.phi" [n*D, n], "head.alpha" [1], "head.b" [n].
type RowOptions struct {
	SinglePass bool   `yaml:"single_pass" added:"false" help:"what a site's coefficients read is the next site's input: one pass carries, writes, reads the rows"`
	Head       string `yaml:"head" default:"sum" added:"\"\""`
}

// Help returns the help texts that are too long for tags, by key.
func (RowOptions) Help() map[string]string {
	return map[string]string{
		"head": "how the last norm reads the rows: their sum, their mean, gated (a factor for each, computed from the rows) or, with " +
			"single_pass, carried (by the last site's coefficients)",
	}
}

// The values of RowOptions.Head; "" is the sum.
const (
	headSum     = "sum"
	headMean    = "mean"
	headGated   = "gated"
	headCarried = "carried"
)

// headName is the prefix of the gated head's parameters.
const headName = "head"

// defaults leaves out what is the default.
func (o RowOptions) defaults() RowOptions {
	if o.Head == headSum {
		o.Head = ""
	}
	return o
}

// check returns an error for an unknown head, and for a carried one without a single pass.
func (o RowOptions) check() error {
	if err := layers.CheckChoice("head", cmp.Or(o.Head, headSum), headSum, headMean, headGated, headCarried); err != nil {
		return err
	}
	if o.Head == headCarried && !o.SinglePass {
		return layers.Setting("head", "want single_pass: true with carried, got carried alone")
	}
	return nil
}

// kept adds to a shape of rows what passes from site to site beside them.
func (o RowOptions) kept(s Shape) Shape {
	if o.SinglePass {
		s.Kept = s.Size + s.Width
	}
	return s
}

// reads tells whether the write at a site also reads, for the next site or the last norm.
func (o RowOptions) reads(at Site, c Common) bool {
	return o.SinglePass && (o.Head == headCarried || at.Index < c.lastSite().Index)
}

// cost returns what the options add to the cost of n rows of D entries: a gated head computes a
// factor for each row from all of them, and keeps both. With a single pass the first site reads the
// embedding, without a product; a read for a carried head keeps the last rows.
func (o RowOptions) cost(c Vectors, n int) (cost layers.Cost) {
	rows, size := float64(n), float64(n*c.D)
	if o.Head == headGated {
		cost = layers.Cost{Parameters: size*rows + rows + 1, FLOPs: 2*size*rows + 2*size, Activations: size + 2*rows}
	}
	if o.SinglePass {
		cost.FLOPs -= 2 * size
	}
	if o.SinglePass && o.Head == headCarried {
		cost = cost.Plus(layers.Cost{FLOPs: 2 * size, Activations: size})
	}
	return cost
}

// unread tells whether nothing uses what a site's coefficients read. With a single pass that holds
// for the last site, unless the head uses it.
func (o RowOptions) unread(at Site, c Common) bool { return o.SinglePass && !o.reads(at, c) }

// unmixed tells whether mixing that keeps the rows' sum changes nothing at a site: at the first,
// where rows are all the same, and at the last, where their sum or mean is read.
func (o RowOptions) unmixed(at Site, c Common) bool {
	return at.Index == 0 || at == c.lastSite() && (o.Head == "" || o.Head == headMean)
}

// siteOf returns the site that the parameter with the given name belongs to, and the name after the
// site's. It finds no sites of a loop's blocks, which share parameters.
func (c Common) siteOf(name string) (at Site, rest string) {
	for _, at := range c.AllSites() {
		if rest, ok := strings.CutPrefix(name, c.Loop.Parameter(at.Name())+"."); ok && !c.Loop.Repeats(c.Loop.Block(at.Block)) {
			return at, rest
		}
	}
	return at, ""
}

// rowGates make n factors, sigmoid(alpha (x phi) + b) + eps, by which rows are multiplied when they
// are read. With writes there are n more, for what is written to the rows.
type rowGates struct {
	n           int
	writes      bool
	static, raw bool
	factor, eps float64
}

// mixer makes the parameters name.phi, name.alpha and name.b (static factors have only name.b) and
// returns the mixer that computes the factors from h [T, n, D], for mix.Read and mix.Write. With
// raw, site determines the row at which reads start; form describes the parameters.
func (g rowGates) mixer(b *graph.Builder, c Vectors, name string, site int, form func(parameters gorgonia.Nodes) Form) RowMixer {
	groups := 1 + int(indicator(g.writes))
	start := slices.Concat(g.readStart(site), make([]float64, (groups-1)*g.n))
	bias := b.Param(constant(name+".b", start, len(start)))
	o := mix.SigmoidOptions{N: g.n, Write: g.writes, Factor: g.factor, Eps: g.eps}
	if g.static {
		return RowMixer{Coefficients: func(*gorgonia.Node) *gorgonia.Node { return mix.SigmoidCoefficients(b, nil, nil, bias, o) },
			Form: func() Form { return form(gorgonia.Nodes{bias}) }}
	}
	weights := decaying(name+".phi", g.n*c.D, len(start))
	if !g.raw {
		weights.Init = graph.Normal(gatesStd)
	}
	phi, alpha := b.Param(weights), b.Param(filled(name+".alpha", startAlpha, groups))
	of := func(z *gorgonia.Node) *gorgonia.Node { return mix.SigmoidCoefficients(b, z, alpha, bias, o) }
	formed := func() Form { return form(gorgonia.Nodes{phi, alpha, bias}) }
	if g.raw {
		return RowMixer{Coefficients: func(h *gorgonia.Node) *gorgonia.Node { return of(linear.Map(b, h, phi, linear.Options{})) }, Form: formed}
	}
	return ProjectedMixer(b, mix.Projection{W: phi, Norm: norm.Options{RMS: true, Eps: c.Norm.Eps}}, of, formed)
}

// gatesStd is the standard deviation with which phi starts in Hy4.
const gatesStd = 0.006

// readStart returns the logits with which rows are read at first: 1/n each or, with raw, one row.
func (g rowGates) readStart(site int) []float64 {
	if g.raw && g.writes {
		return table(g.n, 1, func(i, _ int) float64 { return 10*indicator(i == site%g.n) - 5 })
	}
	return slices.Repeat([]float64{evenLogit(g.n)}, g.n)
}

// evenLogit returns the logit whose sigmoid is 1/n, 0 for one row.
func evenLogit(n int) float64 {
	if n == 1 {
		return 0
	}
	return -math.Log(float64(n - 1))
}
