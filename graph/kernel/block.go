package kernel

// block is a product C = alpha op(A) B + beta D whose operands have the layout that micro-kernels
// read directly: A as in tile, B row by row, in panels of microkernels.width columns.
type block[T Float] struct {
	kernels    *microkernels
	tile       tile[T] // its a, b, c, d point to the block's first elements
	m, n       int     // both at least 1
	transposed bool    // A is stored [k, m]
	panel      int     // distance between panels of B in elements
}

// newBlock returns a product of a [m, k], or transposed [k, m], and b [k, n], with rows that follow
// one another.
func newBlock[T Float](p path, m, n, k int, transposed bool) block[T] {
	x := block[T]{kernels: kernelsOf[T](p), m: m, n: n, transposed: transposed}
	x.panel = x.kernels.width()
	x.tile = tile[T]{k: k, as: choose(transposed, m, k), bs: n, cs: n, alpha: 1}
	return x
}

// multiply computes c = op(a) b + addend. A nil addend means zero; it may be c.
func (x *block[T]) multiply(c, a, b, addend []T) {
	t := &x.tile
	t.a, t.b, t.c, t.d, t.beta = &a[0], &b[0], &c[0], &c[0], 0
	if addend != nil {
		t.d, t.beta = &addend[0], 1
	}
	x.run()
}

// tokenSteps are the distances from a token's operands to the next token's, in elements.
type tokenSteps struct{ a, b, c int }

// dense returns the distances for b and c that follow one another, and one a for all tokens.
func (x *block[T]) dense() tokenSteps { return tokenSteps{b: x.tile.k * x.n, c: x.m * x.n} }

// multiplyTokens computes c = op(a) b + addend for each of several tokens, of a block as newBlock
// returns it. Addends are as far apart as c. A nil addend means zero; it may be c, and all tokens
// may have the same c, to which they are then added one after another.
func (x *block[T]) multiplyTokens(tokens int, step tokenSteps, c, a, b, addend []T) {
	if tokens == 1 {
		x.multiply(c, a, b, addend)
		return
	}
	t := x.tile
	t.d, t.beta = &c[0], 0
	if addend != nil {
		t.d, t.beta = &addend[0], 1
	}
	first := t.d
	width, lanes := x.kernels.width(), x.kernels.lanes
	t.tiles, t.an, t.bn = tokens, step.a, step.b
	for j := 0; j < x.n; j += width {
		columns := min(width, x.n-j)
		vecs := (columns + lanes - 1) / lanes
		t.cols, t.b = columns-(vecs-1)*lanes, &b[j]
		many, high, few, low := x.kernels.split(x.m, vecs)
		for i, row := 0, 0; i < many+few; i++ {
			height := choose(i < many, high, low)
			t.a = &a[choose(x.transposed, row, row*t.as)]
			t.c, t.d = &c[row*t.cs+j], at(first, row*t.cs+j)
			t.cn = step.c - height*t.cs
			x.runTiles(&t, height, vecs)
			row += height
		}
	}
}

// run computes the block.
func (x *block[T]) run() {
	t := x.tile
	width, lanes := x.kernels.width(), x.kernels.lanes
	j := x.runTwoPanels(&t)
	t.as = x.tile.as
	for ; j < x.n; j += width {
		columns := min(width, x.n-j)
		vecs := (columns + lanes - 1) / lanes
		t.cols = columns - (vecs-1)*lanes
		t.a, t.b = x.tile.a, at(x.tile.b, j/width*x.panel)
		t.c, t.d = at(x.tile.c, j), at(x.tile.d, j)
		x.runPanel(&t, vecs)
	}
}

// runTwoPanels computes, for a single row of pairs with AVX-512, the columns of every two panels
// together, and returns their number. With fewer than four vectors left, it leaves the rest.
func (x *block[T]) runTwoPanels(t *tile[T]) (columns int) {
	if x.m > 1 || x.transposed || !x.kernels.pairs || x.kernels.path != avx512 {
		return 0
	}
	width, lanes := x.kernels.width(), x.kernels.lanes
	for t.tiles, t.as = 1, x.panel; x.n-columns > width+lanes; columns += min(2*width, x.n-columns) {
		t.b, t.c, t.d = at(x.tile.b, columns/width*x.panel), at(x.tile.c, columns), at(x.tile.d, columns)
		t.cols = min(x.n-columns-width, width) - lanes
		t.runTwoPanels()
	}
	return columns
}

// runPanel computes one panel of columns.
func (x *block[T]) runPanel(t *tile[T], vecs int) {
	many, high, few, low := x.kernels.split(x.m, vecs)
	if many > 0 {
		t.tiles, t.an = many, choose(x.transposed, high, high*t.as)
		x.runTiles(t, high, vecs)
	}
	if few == 0 {
		return
	}
	if many > 0 {
		done := many * high
		t.a = at(t.a, choose(x.transposed, done, done*t.as))
		t.c, t.d = at(t.c, done*t.cs), at(t.d, done*t.cs)
	}
	t.tiles, t.an = few, choose(x.transposed, low, low*t.as)
	x.runTiles(t, low, vecs)
}

// runTiles runs the micro-kernel.
func (x *block[T]) runTiles(t *tile[T], height, vecs int) {
	switch {
	case x.kernels.pairs:
		t.runPairs(x.kernels, height, vecs, x.transposed)
		return
	case x.kernels.path == portable:
		t.runPortable(height, x.transposed)
		return
	}
	t.runFast(x.kernels.path, height, vecs, x.transposed, t.cols < x.kernels.lanes)
}
