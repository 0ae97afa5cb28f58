package linear

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Mean returns the mean of M_t over the first tokens, as a chain that is the same for all tokens. A
// chain of maps of entries W (matrices, norms) and of mixtures of rows A_t keeps its structure: a
// norm's scale and a mixture of one row with itself are numbers, which commute with everything, so
// that
//
//	M_t = A_t (x) I after W_1 W_2 ...,   the mean M = mean(A_t) (x) I after the same W
//
// Any other chain becomes a Matrix.
func (m Chain) Mean(tokens int) Chain {
	p := &product{groups: make([][]Mix, 1)}
	for _, each := range m {
		if !p.extend(each) {
			return Chain{m.dense(tokens)}
		}
	}
	return p.mean(tokens)
}

// product collects the maps of a chain: W_1 W_2 ..., and the mixtures of rows between them.
type product struct {
	fixed  Chain   // W_1, W_2, ...
	groups [][]Mix // the mixtures before, between and after them; all but the last group are numbers
	size   int     // number of entries at the end of the chain
}

// extend appends a map, or returns false if the chain would not be a product.
func (p *product) extend(m Map) bool {
	last := len(p.groups) - 1
	_, p.size = m.Sizes()
	switch m := m.(type) {
	case Identity:
		return true
	case Mix:
		if n := len(p.groups[last]); n > 0 && p.groups[last][n-1].Width != m.Width { // rows of another width
			if !p.number() {
				return false
			}
			p.groups, last = append(p.groups, nil), last+1
		}
		p.groups[last] = append(p.groups[last], m)
		return true
	case Transposed:
		mix, ok := m.Of.(Mix)
		return ok && p.extend(mix.transposed())
	case Stack:
		mix, ok := m.mix()
		return ok && p.extend(mix)
	case Chain:
		return !slices.ContainsFunc(m, func(each Map) bool { return !p.extend(each) })
	case Norm:
		if m.scale == nil {
			return p.extendByMatrix(m)
		}
		scale := Mix{In: 1, Out: 1, Width: p.size, At: func(t, _, _ int) float64 { return m.scale[t] }}
		return m.Groups == 1 && p.extendByMatrix(m.At(nil, 0)) && p.extend(scale)
	case Matrix:
		return p.extendByMatrix(m)
	}
	return false
}

// extendByMatrix appends a map of entries, if the group before it is a number.
func (p *product) extendByMatrix(m Map) bool {
	if !p.number() {
		return false
	}
	p.fixed, p.groups = append(p.fixed, m), append(p.groups, nil)
	return true
}

// number tells whether the mixtures of the last group multiply to a number.
func (p *product) number() bool {
	group := p.groups[len(p.groups)-1]
	n := len(group)
	return n == 0 || group[0].In == 1 && group[n-1].Out == 1
}

// mean returns the mean of the product over tokens, as a chain.
func (p *product) mean(tokens int) Chain {
	sum := p.coefficients(0)
	for t := 1; t < tokens; t++ {
		sum.Add(sum, p.coefficients(t))
	}
	sum.Scale(1/float64(tokens), sum)
	out, in := sum.Dims()
	if in == out && mat.Equal(sum, identity(in)) {
		return p.fixed
	}
	return append(p.fixed, Mix{In: in, Out: out, Width: p.size / out, At: func(_, i, j int) float64 { return sum.At(i, j) }})
}

// coefficients returns A_t [out, in] of the last group, multiplied by all numbers.
func (p *product) coefficients(token int) *mat.Dense {
	number := 1.0
	last := len(p.groups) - 1
	for _, group := range p.groups[:last] {
		number *= mixed(group, token).At(0, 0)
	}
	a := mixed(p.groups[last], token)
	a.Scale(number, a)
	return a
}

// mixed returns the product of the coefficients of successive mixtures; 1 if there are none.
func mixed(group []Mix, token int) *mat.Dense {
	if len(group) == 0 {
		return identity(1)
	}
	a := identity(group[0].In)
	for _, m := range group {
		next := mat.NewDense(m.Out, m.In, nil)
		next.Apply(func(i, j int, _ float64) float64 { return m.At(token, i, j) }, next)
		both := &mat.Dense{}
		both.Mul(next, a)
		a = both
	}
	return a
}

func identity(n int) *mat.Dense {
	one := mat.NewDense(n, n, nil)
	for i := range n {
		one.Set(i, i, 1)
	}
	return one
}

// dense computes the mean from unit vectors.
func (m Chain) dense(tokens int) Matrix {
	in, out := m.Sizes()
	w := Matrix{W: make([]float64, in*out), In: in, Out: out}
	for i := range in {
		unit, row := make([]float64, in), w.W[i*out:][:out]
		unit[i] = 1
		for t := range tokens {
			for j, v := range m.Apply(t, unit) {
				row[j] += v / float64(tokens)
			}
		}
	}
	return w
}

// Number returns a and true if a chain from Mean is a times the identity; otherwise 1 and false.
func (m Chain) Number() (a float64, is bool) {
	if len(m) == 0 {
		return 1, true
	}
	mix, is := m[0].(Mix)
	if !is || len(m) > 1 || mix.In > 1 || mix.Out > 1 {
		return 1, false
	}
	return mix.At(0, 0, 0), true
}

// Mixture tells whether a chain that Mean returned mixes several rows, or makes several from one.
func (m Chain) Mixture() bool {
	if len(m) == 0 {
		return false
	}
	mix, is := m[len(m)-1].(Mix)
	return is && (mix.In > 1 || mix.Out > 1)
}

// Gain returns ||M|| / sqrt(out) for a chain that is the same for all tokens: the root mean square
// of the factor for a direction, 1 for the identity. in is the number of entries that the chain
// takes.
func (m Chain) Gain(in int) float64 {
	if len(m) == 0 {
		return 1
	}
	if mix, is := m[0].(Mix); is && len(m) == 1 {
		return mat.Norm(mixed([]Mix{mix}, 0), 2) / math.Sqrt(float64(mix.Out))
	}
	w := m.Rows(identity(in))
	_, out := w.Dims()
	return mat.Norm(w, 2) / math.Sqrt(float64(out))
}

// Rows applies a chain that is the same for all tokens to each row of x [n, in]: [n, out].
func (m Chain) Rows(x *mat.Dense) *mat.Dense {
	for _, each := range m {
		x = rowsThrough(each, x, false)
	}
	return x
}

// Back applies the transpose of a chain that is the same for all tokens to each row of y [n, out]:
// [n, in].
func (m Chain) Back(y *mat.Dense) *mat.Dense {
	for i := len(m) - 1; i >= 0; i-- {
		y = rowsThrough(m[i], y, true)
	}
	return y
}

// rowsThrough applies one map, or with back its transpose, to each row of x; for a Matrix it
// computes a matrix product.
func rowsThrough(m Map, x *mat.Dense, back bool) *mat.Dense {
	switch m := m.(type) {
	case Identity:
		return x
	case Transposed:
		return rowsThrough(m.Of, x, !back)
	case Matrix:
		var y mat.Dense
		if w := mat.NewDense(m.In, m.Out, m.W); back {
			y.Mul(x, w.T())
		} else {
			y.Mul(x, w)
		}
		return &y
	}
	in, out := m.Sizes()
	through := m.Apply
	if back {
		out, through = in, m.Transpose
	}
	n, _ := x.Dims()
	y := mat.NewDense(n, out, nil)
	for i := range n {
		y.SetRow(i, through(0, x.RawRowView(i)))
	}
	return y
}
