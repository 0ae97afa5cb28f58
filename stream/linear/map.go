// Package linear has the linear maps that make up a residual stream once the quantities that a run
// computed from its input (mixing coefficients, gates, the scales of norms) are frozen: sources
// enter a stream's state through a map, sites read it through a map, and steps carry it through a
// map.
package linear

import "gonum.org/v1/gonum/floats"

// Map takes the entries of one token, x [in], to y [out] linearly: y = M_t x. The matrix
// M_t [out, in] may differ from token to token. It is hardly ever written out: each kind of map
// multiplies by what it is made of.
//
// Neither method changes its argument; the result may be the argument itself (Identity), so
// a caller that hands it out copies it.
type Map interface {
	// Apply returns y = M_t x, [in] -> [out].
	Apply(token int, x []float64) []float64
	// Transpose returns x = M_t^T y, [out] -> [in]: the direction that <y, M_t .> has where the
	// map begins.
	Transpose(token int, y []float64) []float64
	// Sizes are the numbers of entries in and out.
	Sizes() (in, out int)
}

// Identity leaves a token's entries as they are. Its value is their number.
type Identity int

// Sizes are the same.
func (m Identity) Sizes() (in, out int) { return int(m), int(m) }

// Apply returns x.
func (Identity) Apply(_ int, x []float64) []float64 { return x }

// Transpose returns y.
func (Identity) Transpose(_ int, y []float64) []float64 { return y }

// Matrix is y = x W with weights W [In, Out], row by row, the same for all tokens.
type Matrix struct {
	W       []float64
	In, Out int
}

// Sizes are In and Out.
func (m Matrix) Sizes() (in, out int) { return m.In, m.Out }

// Apply returns x W.
func (m Matrix) Apply(_ int, x []float64) []float64 {
	y := make([]float64, m.Out)
	for i, v := range x {
		if v != 0 {
			floats.AddScaled(y, v, m.W[i*m.Out:][:m.Out])
		}
	}
	return y
}

// Transpose returns W y.
func (m Matrix) Transpose(_ int, y []float64) []float64 {
	x := make([]float64, m.In)
	for i := range x {
		x[i] = floats.Dot(m.W[i*m.Out:][:m.Out], y)
	}
	return x
}

// Scale multiplies each entry by its own factor, as gates do: y = f_t ⊙ x with Factors
// f [T, Size], or [Size] for all tokens.
type Scale struct {
	Factors []float64
	Size    int
}

// Sizes are Size.
func (m Scale) Sizes() (in, out int) { return m.Size, m.Size }

// Apply returns f_t ⊙ x.
func (m Scale) Apply(token int, x []float64) []float64 {
	if len(m.Factors) == m.Size {
		token = 0
	}
	return floats.MulTo(make([]float64, m.Size), m.Factors[token*m.Size:][:m.Size], x)
}

// Transpose is Apply.
func (m Scale) Transpose(token int, y []float64) []float64 { return m.Apply(token, y) }

// Transposed is another map's transpose.
type Transposed struct{ Of Map }

// Sizes are the other map's, exchanged.
func (m Transposed) Sizes() (in, out int) {
	out, in = m.Of.Sizes()
	return in, out
}

// Apply is the other map's Transpose.
func (m Transposed) Apply(token int, x []float64) []float64 { return m.Of.Transpose(token, x) }

// Transpose is the other map's Apply.
func (m Transposed) Transpose(token int, y []float64) []float64 { return m.Of.Apply(token, y) }

// Chain is maps one after another, y = M_n ... M_1 x; none is the identity.
type Chain []Map

// Sizes are the first map's in and the last one's out. An identity of no map has none.
func (m Chain) Sizes() (in, out int) {
	if len(m) == 0 {
		return 0, 0
	}
	in, _ = m[0].Sizes()
	_, out = m[len(m)-1].Sizes()
	return in, out
}

// Apply is the first map's first.
func (m Chain) Apply(token int, x []float64) []float64 {
	for _, each := range m {
		x = each.Apply(token, x)
	}
	return x
}

// ApplyAll is Apply to every token of x [T, in]: [T, out].
func (m Chain) ApplyAll(x []float64) []float64 {
	in, _ := m.Sizes()
	var y []float64
	for t := range len(x) / in {
		y = append(y, m.Apply(t, x[t*in:][:in])...)
	}
	return y
}

// Transpose is the last map's first.
func (m Chain) Transpose(token int, y []float64) []float64 {
	for i := len(m) - 1; i >= 0; i-- {
		y = m[i].Transpose(token, y)
	}
	return y
}

// Stack applies one or more maps to the same entries and puts their results side by
// side: y = [M_1 x; M_2 x; ...].
type Stack []Map

// Sizes returns the size that each map takes and the size of all results together.
func (m Stack) Sizes() (in, out int) {
	for _, each := range m {
		n, more := each.Sizes()
		in, out = n, out+more
	}
	return in, out
}

// Apply joins what the maps make of x.
func (m Stack) Apply(token int, x []float64) []float64 {
	var y []float64
	for _, each := range m {
		y = append(y, each.Apply(token, x)...)
	}
	return y
}

// Transpose is the sum over the maps' transposes of their parts of y.
func (m Stack) Transpose(token int, y []float64) []float64 {
	in, _ := m.Sizes()
	x := make([]float64, in)
	for _, each := range m {
		_, size := each.Sizes()
		floats.Add(x, each.Transpose(token, y[:size]))
		y = y[size:]
	}
	return x
}

// mix is a stack of mixtures of the same rows, and of those rows as they are, as one mixture;
// false: it is none.
func (m Stack) mix() (Mix, bool) {
	in, out := m.Sizes()
	all := Mix{Width: in}
	for _, each := range m {
		if mix, ok := each.(Mix); ok {
			all.Width = mix.Width
		}
	}
	var rows []func(token, j int) float64
	for _, each := range m {
		mix, ok := each.(Mix)
		if _, is := each.(Identity); is {
			mix, ok = Mix{Out: in / all.Width, Width: all.Width, At: kronecker}, true
		}
		if !ok || mix.Width != all.Width {
			return all, false
		}
		for i := range mix.Out {
			rows = append(rows, func(token, j int) float64 { return mix.At(token, i, j) })
		}
	}
	all.In, all.Out = in/all.Width, out/all.Width
	all.At = func(token, i, j int) float64 { return rows[i](token, j) }
	return all, true
}

// kronecker are the coefficients of the identity.
func kronecker(_, i, j int) float64 {
	if i == j {
		return 1
	}
	return 0
}
