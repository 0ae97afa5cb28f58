package stream

// linearMap is a linear map of one token's entries; it may differ from token to token.
type linearMap interface {
	// apply returns M_token x.
	apply(token int, x []float64) []float64
	// transpose returns M_token^T y.
	transpose(token int, y []float64) []float64
}

// identityMap leaves a token's entries as they are.
type identityMap struct{}

func (identityMap) apply(_ int, x []float64) []float64     { return x }
func (identityMap) transpose(_ int, y []float64) []float64 { return y }

// matrixMap is y = x W with W [in, out].
type matrixMap struct {
	w       []float64
	in, out int
}

func (m matrixMap) apply(_ int, x []float64) []float64 {
	y := make([]float64, m.out)
	for i, v := range x {
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

// keysMap stores R rows of Dv entries in a matrix: X = keys^T y, with keys [R, Dk]. Its
// transpose reads: y = keys X.
type keysMap struct {
	keys     []float64
	r, dk, v int
}

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

func (m transposed) apply(token int, x []float64) []float64     { return m.of.transpose(token, x) }
func (m transposed) transpose(token int, y []float64) []float64 { return m.of.apply(token, y) }

// blockMap is a matrix of maps: output i is the sum over j of blocks[i][j] input j. The
// inputs and outputs have size entries each; nil is 0.
type blockMap struct {
	blocks [][]linearMap
	size   int
}

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

// scaleMap multiplies each entry by a factor of its own: factors [T, size].
type scaleMap struct {
	factors []float64
	size    int
}

func (m scaleMap) apply(token int, x []float64) []float64 {
	y := make([]float64, m.size)
	for i, f := range m.factors[token*m.size:][:m.size] {
		y[i] = f * x[i]
	}
	return y
}

func (m scaleMap) transpose(token int, y []float64) []float64 { return m.apply(token, y) }

// mixMap mixes rows of d entries: output row i is the sum over j of at(token, i, j) times
// input row j.
type mixMap struct {
	in, out, d int
	at         func(token, i, j int) float64
}

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

func addTo(y, x []float64) { addScaled(y, 1, x) }

func addScaled(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] += a * v
	}
}
