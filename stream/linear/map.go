// Package linear has the linear maps that make up a residual stream once the quantities that a run
// computed from its input (mixing coefficients, gates, the scales of norms) are frozen: sources
// enter a stream's state through a map, sites read it through a map, and steps carry it through a
// map.
package linear

import "gonum.org/v1/gonum/floats"

// Map takes the entries of one token, x [in], to y [out] linearly: y = M_t x. The matrix M_t [out,
// in] may differ from token to token. It is hardly ever formed: each kind of map multiplies by its
// parts.
//
// Neither method changes its argument; the result may be the argument itself (Identity), so a
// caller that passes it on must copy it.
type Map interface {
	// Apply returns y = M_t x, [in] -> [out].
	Apply(token int, x []float64) []float64
	// Transpose returns x = M_t^T y, [out] -> [in].
	Transpose(token int, y []float64) []float64
	// Sizes returns the numbers of entries in and out.
	Sizes() (in, out int)
}

// Identity returns a token's entries unchanged. Its value is their number.
type Identity int

// Sizes returns the number of entries, twice.
func (m Identity) Sizes() (in, out int) { return int(m), int(m) }

// Apply returns x.
func (Identity) Apply(_ int, x []float64) []float64 { return x }

// Transpose returns y.
func (Identity) Transpose(_ int, y []float64) []float64 { return y }

// Matrix computes y = x W with weights W [In, Out], row by row, the same for all tokens.
type Matrix struct {
	W       []float64
	In, Out int
}

// Sizes returns In and Out.
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

// Sizes returns Size, twice.
func (m Scale) Sizes() (in, out int) { return m.Size, m.Size }

// Apply returns f_t ⊙ x.
func (m Scale) Apply(token int, x []float64) []float64 {
	if len(m.Factors) == m.Size {
		token = 0
	}
	return floats.MulTo(make([]float64, m.Size), m.Factors[token*m.Size:][:m.Size], x)
}

// Transpose calls Apply.
func (m Scale) Transpose(token int, y []float64) []float64 { return m.Apply(token, y) }

// Transposed is the transpose of another map.
type Transposed struct{ Of Map }

// Sizes returns the other map's sizes, exchanged.
func (m Transposed) Sizes() (in, out int) {
	out, in = m.Of.Sizes()
	return in, out
}

// Apply calls the other map's Transpose.
func (m Transposed) Apply(token int, x []float64) []float64 { return m.Of.Transpose(token, x) }

// Transpose calls the other map's Apply.
func (m Transposed) Transpose(token int, y []float64) []float64 { return m.Of.Apply(token, y) }

// Chain applies maps one after another, y = M_n ... M_1 x; without maps it is the identity.
type Chain []Map

// Sizes returns the first map's in and the last one's out, 0 for no maps.
func (m Chain) Sizes() (in, out int) {
	if len(m) == 0 {
		return 0, 0
	}
	in, _ = m[0].Sizes()
	_, out = m[len(m)-1].Sizes()
	return in, out
}

// Apply applies the first map first.
func (m Chain) Apply(token int, x []float64) []float64 {
	for _, each := range m {
		x = each.Apply(token, x)
	}
	return x
}

// ApplyAll applies the chain to every token of x [T, in]: [T, out].
func (m Chain) ApplyAll(x []float64) []float64 {
	in, _ := m.Sizes()
	var y []float64
	for t := range len(x) / in {
		y = append(y, m.Apply(t, x[t*in:][:in])...)
	}
	return y
}

// Transpose applies the transposes, the last map's first.
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

// Apply joins the results of the maps for x.
func (m Stack) Apply(token int, x []float64) []float64 {
	var y []float64
	for _, each := range m {
		y = append(y, each.Apply(token, x)...)
	}
	return y
}

// Transpose returns the sum of the maps' transposes, each applied to its part of y.
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

// mix returns a stack as one mixture, if each of its maps is a Mix of the same rows or the Identity
// of those rows; otherwise false.
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

// kronecker returns the coefficients of the identity.
func kronecker(_, i, j int) float64 {
	if i == j {
		return 1
	}
	return 0
}
