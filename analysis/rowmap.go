package analysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// rowMap is a linear map M [in, out] that is not held as a matrix where it has structure.
type rowMap interface {
	rows(x *mat.Dense) *mat.Dense    // x M, x [n, in]
	columns(w *mat.Dense) *mat.Dense // M w, w [out, n]
}

// rowMaps are maps one behind another, M = M_1 M_2 ...; none is the identity.
type rowMaps []rowMap

func (m rowMaps) rows(x *mat.Dense) *mat.Dense {
	for _, each := range m {
		x = each.rows(x)
	}
	return x
}

func (m rowMaps) columns(w *mat.Dense) *mat.Dense {
	for i := len(m) - 1; i >= 0; i-- {
		w = m[i].columns(w)
	}
	return w
}

// gramOfRows is M^T G M, the Gram matrix of the rows x M for G = x^T x [in, in].
func (m rowMaps) gramOfRows(g *mat.Dense) *mat.Dense {
	if len(m) == 0 {
		return g
	}
	return m.rows(mat.DenseCopyOf(m.rows(g).T()))
}

// scalar is a where M is a I, and 1 and false otherwise.
func (m rowMaps) scalar() (a float64, is bool) {
	a = 1
	for _, each := range m {
		mix, ok := each.(slotRows)
		if !ok {
			return 1, false
		}
		if p, q := mix.mix.Dims(); p != 1 || q != 1 {
			return 1, false
		}
		a *= mix.mix.At(0, 0)
	}
	return a, true
}

// gramOfColumns is M G M^T, the Gram matrix of the columns M w for G = w w^T [out, out].
func (m rowMaps) gramOfColumns(g *mat.Dense) *mat.Dense {
	if len(m) == 0 {
		return g
	}
	return m.columns(mat.DenseCopyOf(m.columns(g).T()))
}

// size is ||M|| / sqrt(out), 1 for the identity: the root mean square of what it multiplies
// a direction by.
func (m rowMaps) size(in int) float64 {
	if len(m) == 0 {
		return 1
	}
	if mix, ok := m[0].(slotRows); ok && len(m) == 1 {
		_, q := mix.mix.Dims()
		return mat.Norm(mix.mix, 2) / math.Sqrt(float64(q))
	}
	w := m.rows(identityMatrix(in))
	return mat.Norm(w, 2) / math.Sqrt(float64(w.RawMatrix().Cols))
}

func identityMatrix(n int) *mat.Dense {
	one := mat.NewDense(n, n, nil)
	for i := range n {
		one.Set(i, i, 1)
	}
	return one
}

// normRows is a norm without its scale, C diag(g) with C = I - 11^T/D in each of groups runs
// of D entries, or diag(g) of an RMSNorm.
type normRows struct {
	gain   []float64
	groups int
	centre bool
}

func (m normRows) rows(x *mat.Dense) *mat.Dense {
	y := mat.DenseCopyOf(x)
	for i := range y.RawMatrix().Rows {
		row := y.RawRowView(i)
		for g := 0; m.centre && g < m.groups; g++ {
			centre(share(row, m.groups, g))
		}
		floats.Mul(row, m.gain)
	}
	return y
}

func (m normRows) columns(w *mat.Dense) *mat.Dense {
	y := mat.DenseCopyOf(w)
	rows, n := y.Dims()
	for i, g := range m.gain {
		floats.Scale(g, y.RawRowView(i))
	}
	for g := 0; m.centre && g < m.groups; g++ {
		centreColumns(y.Slice(g*rows/m.groups, (g+1)*rows/m.groups, 0, n).(*mat.Dense))
	}
	return y
}

// centreColumns takes its mean from each column: C W.
func centreColumns(w *mat.Dense) {
	rows, columns := w.Dims()
	mean := make([]float64, columns)
	for d := range rows {
		floats.AddScaled(mean, 1/float64(rows), w.RawRowView(d))
	}
	for d := range rows {
		floats.Sub(w.RawRowView(d), mean)
	}
}

// matrixRows is a matrix as it stands.
type matrixRows struct{ w *mat.Dense }

func (m matrixRows) rows(x *mat.Dense) *mat.Dense {
	var y mat.Dense
	y.Mul(x, m.w)
	return &y
}

func (m matrixRows) columns(w *mat.Dense) *mat.Dense {
	var y mat.Dense
	y.Mul(m.w, w)
	return &y
}

// slotRows mixes slots of d entries, A (x) I_d: output slot j is the sum over i of A[i, j]
// times input slot i.
type slotRows struct {
	mix *mat.Dense // A [p, q]
	d   int
}

func (m slotRows) rows(x *mat.Dense) *mat.Dense {
	p, q := m.mix.Dims()
	n, _ := x.Dims()
	y := mat.NewDense(n, q*m.d, nil)
	for r := range n {
		in, out := x.RawRowView(r), y.RawRowView(r)
		for i := range p {
			for j := range q {
				floats.AddScaled(out[j*m.d:][:m.d], m.mix.At(i, j), in[i*m.d:][:m.d])
			}
		}
	}
	return y
}

func (m slotRows) columns(w *mat.Dense) *mat.Dense {
	p, q := m.mix.Dims()
	_, n := w.Dims()
	y := mat.NewDense(p*m.d, n, nil)
	for i := range p {
		for j := range q {
			for k := range m.d {
				floats.AddScaled(y.RawRowView(i*m.d+k), m.mix.At(i, j), w.RawRowView(j*m.d+k))
			}
		}
	}
	return y
}
