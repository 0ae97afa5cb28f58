package stream

import (
	"cmp"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/layers"
)

// MHCLiteConfig describes a stream with mHC-lite.
type MHCLiteConfig struct {
	Vectors
	RowOptions
	N int `yaml:"n" default:"4" max:"4096" help:"number of rows, at most 4"`
}

// maxLiteRows is the largest n of mHC-lite, which mixes n! permutations.
const maxLiteRows = 4

// Name returns "mhc-lite".
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

// Defaults sets 4 rows.
func (c MHCLiteConfig) Defaults() Design {
	c.N, c.RowOptions = orDefault(c.N, defaultRows), c.defaults()
	return c
}

// Check returns an error unless there are 1 to 4 rows.
func (c MHCLiteConfig) Check() error {
	err := cmp.Or(c.Vectors.Check(), layers.CheckSize("n", c.N), c.RowOptions.check())
	if err == nil && c.N > maxLiteRows {
		err = layers.Setting("n", "want 1 to %d for the %s stream, which mixes n! permutations, got %d: take the %s stream", maxLiteRows, c.Name(), c.N,
			MHCConfig{}.Name())
	}
	return err
}

// Idle counts the entries that have no gradient because of the rows' options.
func (c MHCLiteConfig) Idle(name string, shape []int) int { return c.idle(c.Common, c.N, name, shape) }

// Shape returns the shape of a stream of N rows.
func (c MHCLiteConfig) Shape() Shape { return c.kept(c.shape(c.N * c.D)) }

// Plain returns a vector stream, for the same reasons as mHC.
func (c MHCLiteConfig) Plain() (Design, bool) { return c.plain(true) }

// Cost counts a column of the projection for each permutation.
func (c MHCLiteConfig) Cost() layers.Cost {
	return c.RowsCost(c.N, false, c.projectionCost(c.N, mix.Permutations(c.N))).Plus(c.RowOptions.cost(c.Vectors, c.N))
}

// New makes the parameters of mHC whose row mixing is a mixture of permutations, doubly stochastic
// without iterations (arXiv 2601.05732): with P_r the n! permutation matrices in lexicographic
// order, the identity first,
//
//	a = softmax(alpha_res (x_n phi_res) + b_res);   H_res = sum_r a_r P_r
//
// b_res starts at 0 for the identity and -8 for the others. Parameters of a site: "mhc.phi"
// [n*D, 2n+n!], "mhc.alpha" [3], "mhc.b" [2n+n!].
func (c MHCLiteConfig) New(b *graph.Builder) Stream {
	// (n-1)! of the n! permutations, including the identity, keep a given row in its place.
	all, other := mix.Permutations(c.N), math.Exp(offDiagonalLogit)
	stays := (1 + float64(mix.Permutations(c.N-1)-1)*other) / (1 + float64(all-1)*other)
	return constrained{n: c.N, alpha: startAlpha, res: table(all, 1, func(r, _ int) float64 { return offDiagonalLogit * indicator(r > 0) }),
		of: func(z, alpha, bias *gorgonia.Node) *gorgonia.Node {
			return mix.PermutationCoefficients(b, z, alpha, bias, c.N)
		}, mixing: evenDiagonal(c.N, stays), source: "mHC-lite, arXiv 2601.05732"}.stream(b, c.Vectors, c.RowOptions)
}
