package analysis

import (
	"cmp"
	"fmt"
	"math/cmplx"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/models/check"
)

// Eigenvalue is a complex number.
type Eigenvalue struct {
	Re float64 `json:"re"`
	Im float64 `json:"im"`
}

// CircuitSpectrum says how a circuit acts on its own directions (Elhage et al. 2021, "Summarizing
// OV/QK Matrices"): an eigenvalue above 0 reinforces a direction, which is copying, one below 0
// removes it.
type CircuitSpectrum struct {
	// Eigenvalues are the eigenvalues that need not be 0, one for each dimension of the circuit's
	// rank, the largest first: by modulus, real part, imaginary part.
	Eigenvalues []Eigenvalue `json:"eigenvalues"`
	// Score is sum Re(lambda) / sum |lambda|, from -1 to 1: 1 where all eigenvalues are positive
	// numbers, 0 where all are 0. Of a full OV circuit it is the copying score.
	Score float64 `json:"score"`
	Norm  float64 `json:"norm"` // Frobenius, of the whole circuit
	// Chance is the distribution of a full circuit's score by chance; nil: not drawn.
	Chance *ScoreChance `json:"chance,omitempty"`
}

// circuitSpectrum returns the spectrum of a circuit that has the eigenvalues of small and otherwise
// zeros.
func circuitSpectrum(small *mat.Dense, norm float64) (CircuitSpectrum, error) {
	s := CircuitSpectrum{Norm: norm}
	var eigen mat.Eigen
	if n, _ := small.Dims(); !numerics.Finite(small) || !eigen.Factorize(small, mat.EigenNone) {
		return s, check.Value(fmt.Sprintf("eigenvalues of a circuit of rank %d", n), "finite weights", "some that are not, or no convergence")
	}
	values := eigen.Values(nil)
	slices.SortStableFunc(values, byModulus)
	sum, size := 0.0, 0.0
	for _, v := range values {
		s.Eigenvalues = append(s.Eigenvalues, Eigenvalue{Re: real(v), Im: imag(v)})
		sum, size = sum+real(v), size+cmplx.Abs(v)
	}
	if size > 0 {
		s.Score = sum / size
	}
	return s, nil
}

// byModulus sorts by modulus, real part and imaginary part, the largest first. Values that differ
// only by rounding count as equal.
func byModulus(a, b complex128) int {
	return cmp.Or(
		cmp.Compare(rounded(cmplx.Abs(b)), rounded(cmplx.Abs(a))),
		cmp.Compare(rounded(real(b)), rounded(real(a))),
		cmp.Compare(rounded(imag(b)), rounded(imag(a))),
	)
}

// rounded keeps 10 digits.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 9, 64), 64)
	if err != nil {
		return v
	}
	return r
}
