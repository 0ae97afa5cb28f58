package stream

import (
	"math"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/layers"
)

// MHCLiteConfig describes a stream with mHC-lite.
type MHCLiteConfig struct {
	Vectors
	N int `yaml:"n" default:"4" max:"4096" help:"number of rows, at most 4"`
}

// maxLiteRows is the largest n of mHC-lite, which mixes n! permutations.
const maxLiteRows = 4

// Name is "mhc-lite".
func (MHCLiteConfig) Name() string { return "mhc-lite" }

// Card describes mHC-lite.
func (MHCLiteConfig) Card() layers.Card {
	return layers.Card{
		Title: "mHC-lite",
		Equation: "a = softmax(alpha_res (x phi_res) + b_res);   H_res = sum_r a_r P_r\n" +
			"the rest as mHC          P_r: the n! permutations",
		Source: "arXiv 2601.05732",
		Use:    "mHC without iterations: a mixture of permutations is doubly stochastic to rounding. Simpler and exact, but phi has n! columns: n is 4 at most.",
	}
}

// Defaults are 4 rows.
func (c MHCLiteConfig) Defaults() Design {
	c.N = orDefault(c.N, defaultRows)
	return c
}

// Check wants 1 to 4 rows.
func (c MHCLiteConfig) Check() error {
	if err := c.check(); err != nil {
		return err
	}
	if err := layers.CheckSizes(layers.Size{Key: "n", Value: c.N}); err != nil {
		return err
	}
	if c.N > maxLiteRows {
		return layers.Setting("n", "want 1 to %d for the %s stream, which mixes n! permutations, got %d: take the %s stream", maxLiteRows, c.Name(), c.N, MHCConfig{}.Name())
	}
	return nil
}

// Shape is that of n rows.
func (c MHCLiteConfig) Shape() Shape { return c.shape(c.N * c.D) }

// Plain is as mHC's.
func (c MHCLiteConfig) Plain() (Design, bool) { return VectorConfig{Vectors: c.Vectors}, true }

// Cost has a number of the projection for each permutation.
func (c MHCLiteConfig) Cost() layers.Cost {
	return c.copiedCost(c.N, c.projectionCost(c.N, mix.Permutations(c.N)))
}

// New is newMHCLite.
func (c MHCLiteConfig) New(b *graph.Builder) Stream { return newMHCLite(b, c) }

// mhcLite is MHC with the rows' mixing a mixture of permutations, doubly stochastic
// without iterations (arXiv 2601.05732): with P_r the n! permutation matrices in
// lexicographic order, the identity first,
//
//	a = softmax(alpha_res (x_n phi_res) + b_res);   H_res = sum_r a_r P_r
//
// b_res starts at 0 for the identity and -8 for the others. Parameters of a site: "mhc.phi"
// [n*D, 2n+n!], "mhc.alpha" [3], "mhc.b" [2n+n!].
type mhcLite struct{ copied }

// newMHCLite makes the parameters of a stream with mHC-lite.
func newMHCLite(b *graph.Builder, c MHCLiteConfig) *mhcLite {
	res := make([]float64, mix.Permutations(c.N))
	for r := range res {
		res[r] = offDiagonalLogit * indicator(r > 0)
	}
	return &mhcLite{newCopied(b, c.Vectors, c.N, func(at Site) mixer {
		start := slices.Concat(siteLogits(c.N, c.first(at)), make([]float64, c.N), res)
		return permutationMixer{newProjection(b, c.Vectors, c.N, at, start, startAlpha), c.N}
	})}
}

type permutationMixer struct {
	projection
	n int
}

func (m permutationMixer) coefficients(h *gorgonia.Node) *gorgonia.Node {
	return mix.PermutationCoefficients(m.b, m.of(h), m.alpha, m.c, m.n)
}

// Form has a doubly stochastic A_res. (n-1)! of the n! permutations leave a given row where
// it is, the identity among them.
func (s *mhcLite) Form(at Site) Form {
	other := math.Exp(offDiagonalLogit)
	stays, all := 1+float64(mix.Permutations(s.n-1)-1)*other, 1+float64(mix.Permutations(s.n)-1)*other
	f := constrainedForm(s.multi.b, at, s.n, s.mixers[at.Index].(permutationMixer).projection, stays/all)
	f.Source = "mHC-lite, arXiv 2601.05732"
	return f
}
