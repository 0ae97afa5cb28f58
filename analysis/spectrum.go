package analysis

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/models/check"
)

// Spectrum says how many directions of the stream a weight uses, by its singular values s_i and
// their shares p_i = s_i^2 / sum_j s_j^2 of its energy:
//
//	EffectiveRank = exp(-sum p_i ln p_i)
//	StableRank    = sum s_i^2 / max s_i^2
//
// The effective rank follows Roy & Vetterli 2007, but with energies instead of their singular
// values (p_i = s_i / sum s_j), so that directions count as they add to the norm of what is read or
// written; it is at most theirs. A weight of zeros has rank 0.
type Spectrum struct {
	Dimensions int       `json:"dimensions"`      // of the space
	Singular   []float64 `json:"singular_values"` // descending; their number is the smaller of rows and columns
	Effective  float64   `json:"effective_rank"`
	Stable     float64   `json:"stable_rank"`
	Directions int       `json:"directions"` // that hold EnergyShare of sum s_i^2
}

// energyShare is the part of a weight's energy that its top directions hold.
const energyShare = 0.9

// subspace is the span of a weight's top directions, as the projector P = U U^T [D, D].
type subspace struct {
	dimensions, directions int
	projector              []float64
}

// spectrumOf returns the spectrum of the weights of a whole site. It uses the eigenvalues of their
// Gram matrix, so singular values below 1e-8 of the largest are rounding errors.
func spectrumOf(e end) (Spectrum, subspace, error) {
	s, eigen, err := spectrumOfGram(e.wholeGram(), e.count)
	space := subspace{dimensions: s.Dimensions, directions: s.Directions}
	if err != nil || s.Directions == 0 {
		return s, space, err
	}
	p, ok := eigen.Projector(s.Directions)
	if !ok {
		return s, space, check.Value(fmt.Sprintf("directions of %d x %d entries", e.size, e.count), "convergence", "none")
	}
	space.projector = p.RawMatrix().Data
	return s, space, nil
}

// spectrumOfGram returns the spectrum of rows whose Gram matrix [D, D] is g.
func spectrumOfGram(g *mat.Dense, rows int) (Spectrum, *numerics.Symmetric, error) {
	name := fmt.Sprintf("singular values of %d x %d entries", g.RawMatrix().Rows, rows)
	if !numerics.Finite(g) {
		return Spectrum{}, nil, check.Value(name, "finite entries", "some that are not")
	}
	eigen, ok := numerics.NewSymmetric(g)
	if !ok {
		return Spectrum{}, nil, check.Value(name, "convergence", "none")
	}
	var energies []float64
	for _, e := range slices.Backward(eigen.Values) {
		energies = append(energies, max(0, e))
	}
	return newSpectrum(energies[:min(len(energies), rows)], len(energies)), eigen, nil
}

// newSpectrum returns the spectrum of squared singular values in descending order.
func newSpectrum(energies []float64, dimensions int) Spectrum {
	s := Spectrum{Dimensions: dimensions}
	total, entropy, held := floats.Sum(energies), 0.0, 0.0
	for _, e := range energies {
		s.Singular = append(s.Singular, math.Sqrt(e))
		if e == 0 {
			continue
		}
		entropy -= e / total * math.Log(e/total)
		if held < energyShare*total {
			s.Directions++
		}
		held += e
	}
	if total > 0 {
		s.Effective, s.Stable = math.Exp(entropy), total/energies[0]
	}
	return s
}

// overlap returns the mean squared cosine of the principal angles between two subspaces (Björck &
// Golub 1973). There is an angle for each direction of the smaller subspace:
//
//	sum_i cos^2 theta_i = ||U^T V||_F^2 = tr(P_U P_V)
//
// 1 where one holds the other, 0 where they are orthogonal. Both must have at least one
// direction.
func (s subspace) overlap(t subspace) float64 {
	return floats.Dot(s.projector, t.projector) / float64(min(s.directions, t.directions))
}

// randomOverlap returns the mean and the standard deviation of the mean squared cosine of the
// principal angles between two subspaces, with k1 and k2 of d dimensions, if one is drawn
// uniformly. By symmetry E P_U = k1/d I, and so
//
//	E tr(P_U P_V) = k1 k2 / d,   Var tr(P_U P_V) = 2 k1 k2 (d-k1) (d-k2) / (d^2 (d-1) (d+2))
//
// and the mean squared cosine is this over min(k1, k2). The variance follows from the invariance
// of E P_U ⊗ P_U under rotations and P_U^2 = P_U.
func randomOverlap(k1, k2, d int) (mean, deviation float64) {
	least := float64(min(k1, k2))
	if least <= 0 || d < max(k1, k2) {
		return 0, 0
	}
	a, b, n := float64(k1), float64(k2), float64(d)
	if d > 1 {
		deviation = math.Sqrt(2*a*b*(n-a)*(n-b)/(n*n*(n-1)*(n+2))) / least
	}
	return a * b / n / least, deviation
}
