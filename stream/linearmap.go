package stream

// linearMap takes the entries of one token, x [in], to y [out] linearly: y = M_t x. The matrix
// M_t [out, in] may differ from token to token. It is hardly ever written out: each kind of map
// below multiplies by what it is made of.
//
// Neither method changes its argument; the result may be the argument itself (identityMap), so
// whoever hands it out copies it.
type linearMap interface {
	// apply returns y = M_t x, [in] -> [out].
	apply(token int, x []float64) []float64
	// transpose returns x = M_t^T y, [out] -> [in]: the direction that <y, M_t .> has where the
	// map begins.
	transpose(token int, y []float64) []float64
	// sizes are the numbers of entries in and out.
	sizes() (in, out int)
}

// identityMap leaves a token's size entries as they are.
type identityMap struct{ size int }

func (identityMap) apply(_ int, x []float64) []float64     { return x }
func (identityMap) transpose(_ int, y []float64) []float64 { return y }
func (m identityMap) sizes() (in, out int)                 { return m.size, m.size }

// matrixMap is y = x W with a parameter W [in, out], the same for all tokens.
type matrixMap struct {
	w       []float64
	in, out int
}

func (m matrixMap) sizes() (in, out int) { return m.in, m.out }

func (m matrixMap) apply(_ int, x []float64) []float64 {
	y := make([]float64, m.out)
	for i, v := range x {
		if v == 0 {
			continue
		}
		for j, w := range m.w[i*m.out:][:m.out] {
			y[j] += v * w
		}
	}
	return y
}

func (m matrixMap) transpose(_ int, y []float64) []float64 {
	x := make([]float64, m.in)
	for i := range x {
		for j, w := range m.w[i*m.out:][:m.out] {
			x[i] += w * y[j]
		}
	}
	return x
}

// keysMap stores R rows y [R, Dv] in a matrix X [Dk, Dv] by their key vectors, keys [R, Dk],
// as the RMT writes (Mak & Flanigan 2025, eq. 20):
//
//	X = sum over r of keys_r (x) y_r = keys^T y
//
// Its transpose is how the RMT reads: y = keys X (eq. 22).
type keysMap struct {
	keys     []float64
	r, dk, v int
}

func (m keysMap) sizes() (in, out int) { return m.r * m.v, m.dk * m.v }

func (m keysMap) apply(_ int, y []float64) []float64 {
	x := make([]float64, m.dk*m.v) // [Dk, Dv]
	for h := range m.r {
		for k, key := range m.keys[h*m.dk:][:m.dk] {
			for j, v := range y[h*m.v:][:m.v] {
				x[k*m.v+j] += key * v
			}
		}
	}
	return x
}

func (m keysMap) transpose(_ int, x []float64) []float64 {
	y := make([]float64, m.r*m.v) // [R, Dv]
	for h := range m.r {
		for k, key := range m.keys[h*m.dk:][:m.dk] {
			for j, v := range x[k*m.v:][:m.v] {
				y[h*m.v+j] += key * v
			}
		}
	}
	return y
}

// transposed is another map's transpose.
type transposed struct{ of linearMap }

func (m transposed) sizes() (in, out int) {
	out, in = m.of.sizes()
	return in, out
}

func (m transposed) apply(token int, x []float64) []float64     { return m.of.transpose(token, x) }
func (m transposed) transpose(token int, y []float64) []float64 { return m.of.apply(token, y) }

// blockMap is for streams that carry several vectors of size entries side by side, such as the
// depth-wise LSTM's [h, c]: a matrix of maps, whose row i makes output vector i:
//
//	y_i = sum over j of blocks[i][j] x_j
//
// A nil block is 0.
type blockMap struct {
	blocks [][]linearMap
	size   int
}

func (m blockMap) sizes() (in, out int) { return len(m.blocks[0]) * m.size, len(m.blocks) * m.size }

func (m blockMap) apply(token int, x []float64) []float64 {
	y := make([]float64, len(m.blocks)*m.size)
	for i, row := range m.blocks {
		for j, block := range row {
			if block != nil {
				addTo(y[i*m.size:], block.apply(token, x[j*m.size:][:m.size]))
			}
		}
	}
	return y
}

func (m blockMap) transpose(token int, y []float64) []float64 {
	x := make([]float64, len(m.blocks[0])*m.size)
	for i, row := range m.blocks {
		for j, block := range row {
			if block != nil {
				addTo(x[j*m.size:], block.transpose(token, y[i*m.size:][:m.size]))
			}
		}
	}
	return x
}

// scaleMap multiplies each entry by a factor of its own, as gates do: y = f_t o x with factors
// f [T, size].
type scaleMap struct {
	factors []float64
	size    int
}

func (m scaleMap) sizes() (in, out int) { return m.size, m.size }

func (m scaleMap) apply(token int, x []float64) []float64 {
	y := make([]float64, m.size)
	for i, f := range m.factors[token*m.size:][:m.size] {
		y[i] = f * x[i]
	}
	return y
}

func (m scaleMap) transpose(token int, y []float64) []float64 { return m.apply(token, y) }

// mixMap mixes rows of d entries, x [in, d] -> y [out, d], by one coefficient for each pair of
// rows, as hyper-connections do:
//
//	y_i = sum over j of at(token, i, j) x_j
type mixMap struct {
	in, out, d int
	at         func(token, i, j int) float64
}

func (m mixMap) sizes() (in, out int) { return m.in * m.d, m.out * m.d }

func (m mixMap) apply(token int, x []float64) []float64 {
	y := make([]float64, m.out*m.d)
	for i := range m.out {
		for j := range m.in {
			addScaled(y[i*m.d:][:m.d], m.at(token, i, j), x[j*m.d:][:m.d])
		}
	}
	return y
}

func (m mixMap) transpose(token int, y []float64) []float64 {
	x := make([]float64, m.in*m.d)
	for i := range m.out {
		for j := range m.in {
			addScaled(x[j*m.d:][:m.d], m.at(token, i, j), y[i*m.d:][:m.d])
		}
	}
	return x
}

// addTo adds x to the first entries of y.
func addTo(y, x []float64) { addScaled(y, 1, x) }

// addScaled adds a x to the first entries of y.
func addScaled(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] += a * v
	}
}
