package stream

import (
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
	N int `yaml:"n" default:"4" max:"4096" help:"number of rows, a power of two, at most 64"`
}

// Name is "kromhc".
func (KromHCConfig) Name() string { return "kromhc" }

// Card describes KromHC.
func (KromHCConfig) Card() layers.Card {
	return layers.Card{
		Title: "KromHC",
		Equation: "(a_k, b_k) = softmax(alpha_res (x phi_res) + b_res)_k;   U_k = [[a_k, b_k], [b_k, a_k]]\n" +
			"H_res = U_1 (x) ... (x) U_K,   n = 2^K;   the rest as mHC",
		Source: "Zhou et al. 2026, arXiv 2601.21579",
		Use:    "mHC without iterations for many rows: a Kronecker product of 2 x 2 matrices is doubly stochastic to rounding, and phi has 2n + 2 log2(n) columns instead of 2n + n^2. What it reaches is products of independent flips of the rows' binary digits, not all doubly stochastic matrices. It starts with writes of 1.46 to one row and 0.54 to the others, so not as the transformer does.",
	}
}

// Defaults are 4 rows.
func (c KromHCConfig) Defaults() Design {
	c.N = orDefault(c.N, defaultRows)
	return c
}

// Check wants 1 to 64 rows, a power of two.
func (c KromHCConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	if err := layers.CheckSizes(layers.Size{Key: "n", Value: c.N}); err != nil {
		return err
	}
	if c.N > maxMHCRows || c.N&(c.N-1) != 0 {
		return layers.Setting("n", "want a power of two up to %d for the %s stream, got %d", maxMHCRows, c.Name(), c.N)
	}
	return nil
}

// pairs is the number of logits of the rows' mixing, 2 for each of the K factors.
func (c KromHCConfig) pairs() int { return 2 * (bits.Len(uint(c.N)) - 1) }

// Shape is that of n rows.
func (c KromHCConfig) Shape() Shape { return c.shape(c.N * c.D) }

// Cost has two numbers of the projection for each factor.
func (c KromHCConfig) Cost() layers.Cost { return c.copiedCost(c.N, c.projectionCost(c.N, c.pairs())) }

// New is newKromHC.
func (c KromHCConfig) New(b *graph.Builder) Stream { return newKromHC(b, c) }

// kromHC is mHC with the rows' mixing a Kronecker product (Zhou et al. 2026, arXiv 2601.21579): with
// n = 2^K and a pair of logits for each factor, the first that of the most significant binary digit
// of a row's number,
//
//	(a_k, b_k) = softmax(alpha_res (x_n phi_res) + b_res)_k
//	H_res = U_1 ⊗ ... ⊗ U_K,   U_k = [[a_k, b_k], [b_k, a_k]]
//
// As in the authors' code, b starts at +1 at row (site mod n) and -1 at the others for post, too,
// and at (0, -8) for each pair: rows keep themselves to 0.9997 a factor.
//
// Parameters of a site: "mhc.phi" [n*D, 2n+2K], "mhc.alpha" [3], "mhc.b" [2n+2K].
type kromHC struct{ copied }

// newKromHC makes the parameters of a stream with KromHC.
func newKromHC(b *graph.Builder, c KromHCConfig) *kromHC {
	return &kromHC{newCopied(b, c.Vectors, c.N, func(at Site) mixer {
		row, pair := siteLogits(c.N, c.first(at)), []float64{0, offDiagonalLogit}
		start := slices.Concat(row, row, slices.Repeat(pair, c.pairs()/2))
		return kroneckerMixer{newProjection(b, c.Vectors, c.N, at, start, startAlpha), c.N}
	})}
}

type kroneckerMixer struct {
	projection
	n int
}

func (m kroneckerMixer) coefficients(h *gorgonia.Node) *gorgonia.Node {
	return mix.KroneckerCoefficients(m.b, m.of(h), m.alpha, m.c, m.n)
}

// Form has a doubly stochastic A_res, of which entry (i, j) is at first a product over the binary
// digits of i and j, of one factor where they are alike and another where they differ.
func (s *kromHC) Form(at Site) Form {
	keep := logistic(-offDiagonalLogit)
	f := constrainedForm(s.multi.b, at, s.n, s.mixers[at.Index].(kroneckerMixer).projection, 1)
	f.Res.Start.Values = table(s.n, s.n, func(i, j int) float64 {
		entry := 1.0
		for digit := 1; digit < s.n; digit *= 2 {
			if i&digit == j&digit {
				entry *= keep
			} else {
				entry *= 1 - keep
			}
		}
		return entry
	})
	f.Res.Start.Text = startsOnDiagonal(f.Res.Start.Values[0])
	f.Up.Start.Text = "2 sigmoid(+1) at row (site mod n), 2 sigmoid(-1) elsewhere"
	f.Source = "Zhou et al. 2026, arXiv 2601.21579"
	return f
}
