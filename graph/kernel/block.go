package kernel

// block is a product C = alpha op(A) B + beta D whose operands lie so that
// micro-kernels can run on them directly: A as in tile, B row by row, in panels of
// microkernels.width columns.
type block[T Float] struct {
	kernels    *microkernels
	tile       tile[T] // a, b, c, d are the block's first elements
	m, n       int     // both at least 1
	transposed bool    // A is stored [k, m]
	panel      int     // elements from one panel of B to the next
}

// run computes the block.
func (x *block[T]) run() {
	t := x.tile
	width, lanes := x.kernels.width(), x.kernels.lanes
	for j := 0; j < x.n; j += width {
		columns := min(width, x.n-j)
		vecs := (columns + lanes - 1) / lanes
		t.cols = columns - (vecs-1)*lanes
		t.a, t.b = x.tile.a, at(x.tile.b, j/width*x.panel)
		t.c, t.d = at(x.tile.c, j), at(x.tile.d, j)
		x.runPanel(&t, vecs)
	}
}

// runPanel computes one panel of columns. The rows are divided evenly over as few
// tiles as can hold them, the taller tiles first.
func (x *block[T]) runPanel(t *tile[T], vecs int) {
	highest := x.kernels.rows[vecs]
	tiles := (x.m + highest - 1) / highest
	height := x.m / tiles
	taller := x.m - tiles*height
	if taller > 0 {
		t.tiles = taller
		x.runTiles(t, height+1, vecs)
		done := taller * (height + 1)
		t.c, t.d = at(t.c, done*t.cs), at(t.d, done*t.cs)
		if x.transposed {
			t.a = at(t.a, done)
		} else {
			t.a = at(t.a, done*t.as)
		}
	}
	t.tiles = tiles - taller
	x.runTiles(t, height, vecs)
}

// runTiles runs the micro-kernel.
func (x *block[T]) runTiles(t *tile[T], height, vecs int) {
	if x.kernels.path == portable {
		t.runPortable(height, x.transposed)
		return
	}
	t.runFast(x.kernels.path, height, vecs, x.transposed, t.cols < x.kernels.lanes)
}
