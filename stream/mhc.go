package stream

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/layers"
)

// MHCConfig describes a stream with manifold-constrained hyper-connections.
type MHCConfig struct {
	Vectors
	RowOptions
	N          int `yaml:"n" default:"4" max:"4096" help:"number of rows, the expansion rate"`
	Iterations int `yaml:"sinkhorn_iterations" default:"20" max:"1000" help:"iterations that make the mixing doubly stochastic"`
	// StartLogit and StartAlpha set how far from the identity H_res starts, and how strongly it
	// depends on the stream at first.
	StartLogit float64 `yaml:"start_logit" default:"-8" help:"b of the rows' mixing at first, off the diagonal: -8 keeps a row to 0.999 of 4, -2 to 0.71"`
	StartAlpha float64 `yaml:"start_alpha" default:"0.01" help:"alpha at first, the factor of what the stream says of pre, post and mixing"`
}

const (
	// maxMHCRows is the largest n of mHC.
	maxMHCRows = 64
	// leastLogit is a logit x for which 1 + e^x is 1 in float32.
	leastLogit = -80
	// startAlpha is the initial alpha.
	startAlpha = 0.01
	// maxIterations is far more than Sinkhorn's algorithm needs to converge.
	maxIterations = 1000
)

// Name returns "mhc".
func (MHCConfig) Name() string { return "mhc" }

// Card describes mHC.
func (c MHCConfig) Card() layers.Card {
	if c.SinglePass {
		return layers.Card{
			Title: "Manifold-constrained hyper-connections, single pass",
			Equation: "c_0 = e;   X_(k+1) = H_k X_k + post_k^T F(c_k);   c_(k+1) = pre_k . X_(k+1)\n" +
				"logits = Norm(c_last) W_U          pre_k, post_k and H_k as mHC's, from X_k",
			Source: "DeepSeek-V4.1-Flash (transformers, pull request 48755)",
			Use: "mHC whose read lags: what a site's coefficients read is the next site's input, so that the rows are carried, written and read in one " +
				"pass, with (2n+2) D entries of traffic a site instead of (4n+4) D. The last site's read is the head. It starts as the transformer does; trained, " +
				"it is another model than mHC.",
		}
	}
	return layers.Card{
		Title: "Manifold-constrained hyper-connections",
		Equation: "z = alpha (x phi) + b,   x = vec(X)/rms(vec X)\n" +
			"pre = sigmoid(z_pre);   post = 2 sigmoid(z_post);   H_res = Sinkhorn(exp(z_res))\n" +
			"X <- H_res X + post^T F(pre . X)",
		Source: "DeepSeek 2025, arXiv 2512.24880",
		Use: "Hyper-connections for depth: H_res is doubly stochastic, so that products of mixings stay doubly stochastic and no signal is amplified on " +
			"its way. Costs 20 Sinkhorn iterations on n x n numbers a token and site. The source leaves its start open; ours has H_res at the identity to 0.1%.",
	}
}

// Defaults sets 4 rows, 20 iterations, and a start within 0.1% of the identity.
func (c MHCConfig) Defaults() Design {
	c.N, c.Iterations, c.RowOptions = orDefault(c.N, defaultRows), orDefault(c.Iterations, 20), c.defaults()
	if c.StartLogit == 0 {
		c.StartLogit = offDiagonalLogit
	}
	if c.StartAlpha == 0 {
		c.StartAlpha = startAlpha
	}
	return c
}

// Check returns an error unless there are 1 to 64 rows and at least one iteration.
func (c MHCConfig) Check() error {
	if err := cmp.Or(c.Vectors.Check(), layers.CheckSize("n", c.N), layers.CheckSize("sinkhorn_iterations", c.Iterations), c.RowOptions.check()); err != nil {
		return err
	}
	switch {
	case c.Iterations > maxIterations:
		return layers.Setting("sinkhorn_iterations", "want 1 to %d, got %d", maxIterations, c.Iterations)
	case c.N > maxMHCRows:
		return layers.Setting("n", "want 1 to %d for the %s stream, got %d", maxMHCRows, c.Name(), c.N)
	case !(c.StartLogit < 0 && c.StartLogit >= leastLogit):
		return layers.Setting("start_logit", "want at least %d and below 0, got %g", leastLogit, c.StartLogit)
	case !(c.StartAlpha > 0 && c.StartAlpha <= 1):
		return layers.Setting("start_alpha", "want above 0 and at most 1, got %g", c.StartAlpha)
	}
	return nil
}

// Shape returns the shape of a stream of N rows.
func (c MHCConfig) Shape() Shape { return c.kept(c.shape(c.N * c.D)) }

// Plain returns a vector stream: each site writes to every row with the factor 1 and mixes rows by
// weights that sum to 1, so that all rows stay equal, and the sublayer's norm cancels the sum of
// the weights by which a site reads them.
func (c MHCConfig) Plain() (Design, bool) { return c.plain(true) }

// Cost counts a column of the projection for each entry of the rows' mixing.
func (c MHCConfig) Cost() layers.Cost {
	return c.RowsCost(c.N, false, c.projectionCost(c.N, c.N*c.N)).Plus(c.RowOptions.cost(c.Vectors, c.N))
}

// New makes the parameters of a stream with manifold-constrained hyper-connections (DeepSeek 2025,
// arXiv 2512.24880): n rows X [n, D] whose mixing is doubly stochastic, so that no row's sum grows
// with depth. With x_n = vec(X)/rms(vec(X)), one RMS over all n*D entries,
//
//	z = alpha (x_n phi) + b               pre [n] | post [n] | res [n, n], an alpha each
//	pre = sigmoid(z_pre);   post = 2 sigmoid(z_post);   H_res = Sinkhorn(exp(z_res))
//	X <- H_res X + post^T F(pre . X);     features = Norm(sum of rows)
//
// At first phi = 0 and alpha = 0.01 (StartAlpha); b is +1 at pre's row (site mod n) and -1 at the
// others, 0 at post (a post of 1), 0 on res's diagonal and -8 (StartLogit) off it (a diagonal of
// 0.999): with rows that start alike, a uniform b would never let gradient descent tell them apart.
// b and alpha do not decay.
//
// Parameters of a site: "mhc.phi" [n*D, 2n+n*n], "mhc.alpha" [3], "mhc.b" [2n+n*n].
func (c MHCConfig) New(b *graph.Builder) Stream {
	// The matrix with which Sinkhorn's algorithm begins has the same sum in each row and column, so
	// that dividing by a row's sum completes it.
	diagonal := 1 / (1 + float64(c.N-1)*math.Exp(c.StartLogit))
	return constrained{n: c.N, alpha: c.StartAlpha, res: table(c.N, c.N, func(i, j int) float64 { return c.StartLogit * indicator(i != j) }),
		of: func(z, alpha, bias *gorgonia.Node) *gorgonia.Node {
			return mix.SinkhornCoefficients(b, z, alpha, bias, c.N, c.Iterations)
		}, mixing: evenDiagonal(c.N, diagonal), source: "DeepSeek 2025, arXiv 2512.24880"}.stream(b, c.Vectors, c.RowOptions)
}

// constrained is what mHC, mHC-lite and KromHC share: a projection alpha (x_n phi) + b, from which
// each computes coefficients in its own way.
type constrained struct {
	n      int
	alpha  float64   // initial value
	res    []float64 // initial b of the rows' mixing
	wide   bool      // b of post starts like b of pre
	of     func(z, alpha, bias *gorgonia.Node) *gorgonia.Node
	mixing Start // of A_res
	source string
}

// offDiagonalLogit is the initial b of entries that mix a row with other rows.
const offDiagonalLogit = -8

// siteLogits returns the logits by which the rows differ at first: +1 at row (site mod n), -1 at
// the others.
func siteLogits(n, site int) []float64 {
	logits := slices.Repeat([]float64{-1}, n)
	logits[site%n] = 1
	return logits
}

// projectionCost returns the cost of a site's projection, which has res columns for mixing the
// rows, and of the coefficients computed from it; both are kept.
func (c Vectors) projectionCost(n, res int) layers.Cost {
	rows, k := float64(n), float64(2*n+res)
	size := rows * float64(c.D)
	return layers.Cost{Parameters: size*k + k + 3, FLOPs: 2 * size * k, Activations: k + rows*(rows+2)}
}

// idle returns how many entries of a parameter of n rows' projection have no gradient: those of pre
// and of the rows' mixing, where nothing depends on them.
func (o RowOptions) idle(c Common, n int, name string, shape []int) int {
	at, rest := c.siteOf(name)
	part, ours := strings.CutPrefix(rest, "mhc.")
	if !ours {
		return 0
	}
	pre, mixing := int(indicator(o.unread(at, c))), int(indicator(o.unmixed(at, c)))
	if part == "alpha" {
		return pre + mixing
	}
	columns, rows := shape[len(shape)-1], 1
	if len(shape) > 1 {
		rows = shape[0]
	}
	return rows * (pre*n + mixing*(columns-2*n))
}

// Idle counts the entries that have no gradient because of the rows' options.
func (c MHCConfig) Idle(name string, shape []int) int { return c.idle(c.Common, c.N, name, shape) }

// Variant returns "single pass" or "mixed".
func (c MHCConfig) Variant() string {
	if c.SinglePass {
		return "single pass"
	}
	return "mixed"
}

// stream makes the parameters: "mhc.phi", "mhc.alpha" and "mhc.b" of each site.
func (k constrained) stream(b *graph.Builder, c Vectors, o RowOptions) Stream {
	return newRows(b, c, packing{n: k.n, m: 1}, o, func(at Site) RowMixer {
		pre, name := siteLogits(k.n, c.first(at)), at.Name()+".mhc"
		post, writes := make([]float64, k.n), "1"
		if k.wide {
			post, writes = pre, "2 sigmoid(+1) at row (site mod n), 2 sigmoid(-1) elsewhere"
		}
		start := slices.Concat(pre, post, k.res)
		phi := b.Param(decaying(name+".phi", k.n*c.D, len(start)))
		alpha := b.Param(constant(name+".alpha", slices.Repeat([]float64{k.alpha}, 3), 3))
		bias := b.Param(constant(name+".b", start, len(start)))
		return ProjectedMixer(b, mix.Projection{W: phi, Norm: norm.Options{RMS: true, Eps: c.Norm.Eps}}, func(z *gorgonia.Node) *gorgonia.Node {
			return k.of(z, alpha, bias) // of x_n phi [T, 2n+..]
		}, func() Form {
			f := mixedForm(packing{n: k.n, m: 1}, k.source, Dependent, phi, alpha, bias)
			f.Res.Constraint, f.Down.Constraint, f.Up.Constraint = DoublyStochastic, WithinOne, WithinTwo
			f.Res.Start = k.mixing
			f.Down.Start = Start{"sigmoid(+1) at row (site mod n), sigmoid(-1) elsewhere", opened(1, pre)}
			f.Up.Start = Start{writes, opened(2, post)}
			return f
		})
	}, nil)
}

// opened returns factor times the sigmoids of the logits.
func opened(factor float64, logits []float64) []float64 {
	return table(len(logits), 1, func(i, _ int) float64 { return factor * logistic(logits[i]) })
}
