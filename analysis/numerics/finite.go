package numerics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// NotFinite tells whether a number is none, or infinite.
func NotFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// Finite tells whether all entries are numbers.
func Finite(w *mat.Dense) bool {
	return !slices.ContainsFunc(w.RawMatrix().Data, NotFinite)
}
