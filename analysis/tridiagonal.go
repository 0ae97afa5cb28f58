package analysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/internal/matmul"
)

// tridiagonal makes a symmetric matrix tridiagonal by reflections, T = Q^T A Q with Q = H_0 H_1 …, H_j =
// I - tau_j v_j v_j^T (Golub & Van Loan, section 8.3.1), as LAPACK's Dsytrd does, a panel of columns at a time
// (Dongarra, Sorensen & Hammarling 1989): what a panel's reflections do to the rest is one product,
//
//	A <- A - V^T W - W^T V
//
// It works on rows, where gonum's goes down columns, and takes half of the time.
type tridiagonal struct {
	n         int
	a         *mat.Dense // [n, n], of which the upper triangle counts
	d, e, tau []float64  // diagonal of T, what is next to it, factors
	v, w      *mat.Dense // [panel, n], of this panel
}

// tridiagonalPanel is the number of columns of a panel.
const tridiagonalPanel = 32

// newTridiagonal overwrites a: below the diagonal's neighbours its column j has v_j after its first entry, 1.
func newTridiagonal(a *mat.Dense) *tridiagonal {
	n, _ := a.Dims()
	t := &tridiagonal{n: n, a: a, d: make([]float64, n), e: make([]float64, max(0, n-1)), tau: make([]float64, max(0, n-1))}
	for from := 0; from < n; from += tridiagonalPanel {
		to := min(from+tridiagonalPanel, n)
		t.v, t.w = mat.NewDense(tridiagonalPanel, n, nil), mat.NewDense(tridiagonalPanel, n, nil)
		for j := from; j < to; j++ {
			t.reflect(from, j)
		}
		t.update(to)
	}
	return t
}

// reflect makes row j tridiagonal, and v and w of its reflection, in a panel that begins with row from.
func (t *tridiagonal) reflect(from, j int) {
	row := t.a.RawRowView(j)
	for p := range j - from {
		v, w := t.v.RawRowView(p), t.w.RawRowView(p)
		floats.AddScaled(row[j:], -v[j], w[j:])
		floats.AddScaled(row[j:], -w[j], v[j:])
	}
	t.d[j] = row[j]
	if j == t.n-1 {
		return
	}
	v, w := t.v.RawRowView(j - from)[j+1:], t.w.RawRowView(j - from)[j+1:]
	copy(v, row[j+1:])
	t.e[j], t.tau[j] = reflection(v)
	t.times(w, v, j+1)
	for p := range j - from {
		earlierV, earlierW := t.v.RawRowView(p)[j+1:], t.w.RawRowView(p)[j+1:]
		ofV, ofW := floats.Dot(earlierV, v), floats.Dot(earlierW, v)
		floats.AddScaled(w, -ofW, earlierV)
		floats.AddScaled(w, -ofV, earlierW)
	}
	floats.Scale(t.tau[j], w)
	floats.AddScaled(w, -0.5*t.tau[j]*floats.Dot(w, v), v)
	for i, x := range v {
		t.a.Set(j+1+i, j, x)
	}
}

// times computes w = A v of the part of A from row and column from on.
func (t *tridiagonal) times(w, v []float64, from int) {
	clear(w)
	for i := range v {
		right := t.a.RawRowView(from + i)[from+i:]
		w[i] += floats.Dot(right, v[i:])
		floats.AddScaled(w[i+1:], v[i], right[1:])
	}
}

// update applies the panel's reflections to the part of A from row and column from on.
func (t *tridiagonal) update(from int) {
	if from >= t.n {
		return
	}
	var left, right mat.Dense // [2 panel, n-from]
	v, w := t.v.Slice(0, tridiagonalPanel, from, t.n), t.w.Slice(0, tridiagonalPanel, from, t.n)
	left.Stack(v, w)
	right.Stack(w, v)
	rest := t.a.Slice(from, t.n, from, t.n).(*mat.Dense)
	rest.Sub(rest, matmul.Mul(left.T(), &right))
}

// reflection makes v, whose first entry becomes 1, and tau of the reflection that turns x into beta times the first
// direction; v holds x before.
func reflection(v []float64) (beta, tau float64) {
	rest := floats.Norm(v[1:], 2)
	if rest == 0 {
		beta, v[0] = v[0], 1
		return beta, 0
	}
	beta = -math.Copysign(math.Hypot(v[0], rest), v[0])
	tau = (beta - v[0]) / beta
	floats.Scale(1/(v[0]-beta), v[1:])
	v[0] = 1
	return beta, tau
}
