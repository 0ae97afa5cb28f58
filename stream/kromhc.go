package stream

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/layers"
)

// KromHCConfig describes a stream with KromHC.
type KromHCConfig struct {
	Vectors
	RowOptions
	N int `yaml:"n" default:"4" max:"4096" help:"number of rows, a power of two, at most 64"`
}

// Name returns "kromhc".
func (KromHCConfig) Name() string { return "kromhc" }

// Card describes KromHC.
func (KromHCConfig) Card() layers.Card {
	return layers.Card{
		Title: "KromHC",
		Equation: "(a_k, b_k) = softmax(alpha_res (x phi_res) + b_res)_k;   U_k = [[a_k, b_k], [b_k, a_k]]\n" +
			"H_res = U_1 (x) ... (x) U_K,   n = 2^K;   the rest as mHC",
		Source: "Zhou et al. 2026, arXiv 2601.21579",
		Use: "mHC without iterations for many rows: a Kronecker product of 2 x 2 matrices is doubly stochastic to rounding, and phi has 2n + 2 log2(n) " +
			"columns instead of 2n + n^2. What it reaches is products of independent flips of the rows' binary digits, not all doubly stochastic matrices. It " +
			"starts with writes of 1.46 to one row and 0.54 to the others, so not as the transformer does.",
	}
}

// Defaults sets 4 rows.
func (c KromHCConfig) Defaults() Design {
	c.N, c.RowOptions = orDefault(c.N, defaultRows), c.defaults()
	return c
}

// Check returns an error unless the number of rows is a power of two up to 64.
func (c KromHCConfig) Check() error {
	err := cmp.Or(c.Vectors.Check(), layers.CheckSize("n", c.N), c.RowOptions.check())
	if err == nil && (c.N > maxMHCRows || c.N&(c.N-1) != 0) {
		err = layers.Setting("n", "want a power of two up to %d for the %s stream, got %d", maxMHCRows, c.Name(), c.N)
	}
	return err
}

// pairs returns the number of logits for the rows' mixing: 2 for each of the K factors.
func (c KromHCConfig) pairs() int { return 2 * (bits.Len(uint(c.N)) - 1) }

// Idle counts the entries that have no gradient because of the rows' options.
func (c KromHCConfig) Idle(name string, shape []int) int { return c.idle(c.Common, c.N, name, shape) }

// Shape returns the shape of a stream of N rows.
func (c KromHCConfig) Shape() Shape { return c.kept(c.shape(c.N * c.D)) }

// Cost counts two columns of the projection for each factor.
func (c KromHCConfig) Cost() layers.Cost {
	return c.RowsCost(c.N, false, c.projectionCost(c.N, c.pairs())).Plus(c.RowOptions.cost(c.Vectors, c.N))
}

// New makes the parameters of mHC whose row mixing is a Kronecker product (Zhou et al. 2026, arXiv
// 2601.21579): with n = 2^K and a pair of logits for each factor, first the factor of the most
// significant binary digit of a row's number,
//
//	(a_k, b_k) = softmax(alpha_res (x_n phi_res) + b_res)_k
//	H_res = U_1 ⊗ ... ⊗ U_K,   U_k = [[a_k, b_k], [b_k, a_k]]
//
// As in the authors' code, b starts at +1 at row (site mod n) and -1 at the others for post, too,
// and at (0, -8) for each pair: each factor keeps 0.9997 of a row.
//
// Parameters of a site: "mhc.phi" [n*D, 2n+2K], "mhc.alpha" [3], "mhc.b" [2n+2K].
func (c KromHCConfig) New(b *graph.Builder) Stream {
	// At first, entry (i, j) is a product over the binary digits of i and j: one number for each
	// digit in which they agree, another for each in which they differ.
	keep := logistic(-offDiagonalLogit)
	mixing := table(c.N, c.N, func(i, j int) float64 {
		differ := bits.OnesCount(uint(i ^ j))
		return math.Pow(keep, float64(c.pairs()/2-differ)) * math.Pow(1-keep, float64(differ))
	})
	return constrained{n: c.N, alpha: startAlpha, wide: true, res: slices.Repeat([]float64{0, offDiagonalLogit}, c.pairs()/2),
		of: func(z, alpha, bias *gorgonia.Node) *gorgonia.Node {
			return mix.KroneckerCoefficients(b, z, alpha, bias, c.N)
		}, mixing: Start{startsOnDiagonal(mixing[0]), mixing}, source: "Zhou et al. 2026, arXiv 2601.21579"}.stream(b, c.Vectors, c.RowOptions)
}
