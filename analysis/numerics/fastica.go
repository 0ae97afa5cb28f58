package numerics

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Whitening is the map z = (x - mean) To, which gives samples mean 0 and unit covariance in K
// directions.
type Whitening struct {
	mean []float64  // [D]
	To   *mat.Dense // [D, K]: the leading principal directions over their standard deviations
}

// Whiten finds the whitening of samples [N, D] in their k leading principal directions, or in fewer
// if the samples vary in fewer.
func Whiten(x *mat.Dense, k int) (Whitening, bool) {
	n, d := x.Dims()
	w := Whitening{mean: make([]float64, d)}
	for j := range d {
		w.mean[j] = stat.Mean(mat.Col(nil, j, x), nil)
	}
	covariance := mat.NewSymDense(d, nil)
	covariance.SymOuterK(1/float64(n), w.centred(x).T())
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return w, false
	}
	values := eigen.Values(nil)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	const rounding = 1e-12
	for k = min(k, d); k > 0 && values[d-k] <= rounding*values[d-1]; {
		k--
	}
	if k == 0 {
		return w, false
	}
	w.To = mat.NewDense(d, k, nil)
	for j := range k {
		at := d - 1 - j
		for i := range d {
			w.To.Set(i, j, vectors.At(i, at)/math.Sqrt(values[at]))
		}
	}
	return w, true
}

// Of whitens samples [N, D] -> [N, K].
func (w Whitening) Of(x *mat.Dense) *mat.Dense {
	return Mul(w.centred(x), w.To)
}

// centred returns samples minus the mean.
func (w Whitening) centred(x *mat.Dense) *mat.Dense {
	var centred mat.Dense
	centred.Apply(func(_, j int, v float64) float64 { return v - w.mean[j] }, x)
	return &centred
}

// FastICA takes at most icaSteps steps, and ends when a step hardly moves its directions.
const (
	icaSteps     = 200
	icaTolerance = 1e-4
)

// FastICA finds orthonormal directions [K, K], the rows, along which whitened samples [N, K] are
// least Gaussian: symmetric FastICA with the contrast log cosh (Hyvärinen 1999, "Fast and robust
// fixed-point algorithms for independent component analysis", eq. 20 and 45),
//
//	W <- E[g(W z) z^T] - diag(E[g'(W z)]) W,  g = tanh;   W <- (W W^T)^(-1/2) W
//
// It returns how many steps it took, and whether the directions had come to rest.
func FastICA(z *mat.Dense, draw *rand.Rand) (w *mat.Dense, steps int, converged bool) {
	n, k := z.Dims()
	w = UniformOrthogonal(k, draw)
	var y, next mat.Dense
	for steps < icaSteps {
		steps++
		y.Mul(z, w.T()) // [N, K]
		slope := make([]float64, k)
		y.Apply(func(_, j int, v float64) float64 {
			g := math.Tanh(v)
			slope[j] += (1 - g*g) / float64(n)
			return g
		}, &y)
		next.Mul(y.T(), z) // [K, K]
		next.Scale(1/float64(n), &next)
		for i := range k {
			for j := range k {
				next.Set(i, j, next.At(i, j)-slope[i]*w.At(i, j))
			}
		}
		decorrelated, ok := decorrelate(&next)
		if !ok {
			return w, steps, false
		}
		turn := Mul(decorrelated, w.T())
		rest := 0.0
		for i := range k {
			rest = max(rest, 1-math.Abs(turn.At(i, i)))
		}
		if w = decorrelated; rest < icaTolerance {
			return w, steps, true
		}
	}
	return w, steps, false
}

// decorrelate returns (W W^T)^(-1/2) W, the orthogonal matrix nearest to W; false if W is singular.
func decorrelate(w *mat.Dense) (*mat.Dense, bool) {
	var svd mat.SVD
	if !Finite(w) || !svd.Factorize(w, mat.SVDFull) || svd.Values(nil)[len(svd.Values(nil))-1] == 0 {
		return nil, false
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	return Mul(&u, v.T()), true
}
