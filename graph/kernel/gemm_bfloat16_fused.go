package kernel

// FusedBFloat16 computes products of bfloat16 together with an activation of their results, row by
// row of a block while the block is in cache. The activation reads results that have been rounded
// to bfloat16, and its own results are rounded, too, as if the product had been stored in between.
// The weights are packed like op(B) of GemmBFloat16.Run.
type FusedBFloat16 struct {
	gemm      GemmBFloat16[BFloat16]
	activated activatedRows
	swiGLU    swiGLURows
}

// rowsEpilogue stores rows of a product's float32 sums as bfloat16, perhaps after computing with
// them.
type rowsEpilogue interface {
	// row stores elements of C beginning with row i and column j; space has room for twice as many
	// floats as sums.
	row(i, j int, sums, space []float32)
}

// run computes a [m, k] b, which the epilogue then stores.
func (g *FusedBFloat16) run(p *Pool, m int, a []BFloat16, b PackedBFloat16, c []BFloat16, then rowsEpilogue) {
	g.gemm.rows = then
	g.gemm.RunPacked(p, false, m, 1, a, b.k, b, 0, c, b.n)
}

// Activated computes h = x w and y = f(h), as GemmActivated.Forward does, for the given number of
// rows of x.
func (g *FusedBFloat16) Activated(p *Pool, h, y, x []BFloat16, w PackedBFloat16, rows int, f Activation) {
	g.activated = activatedRows{half: storedRows{h, w.n}, y: y, f: f, path: pathOf[float32](0)}
	g.run(p, rows, x, w, h, &g.activated)
}

// ActivatedBackward computes dh = (dy w) f'(h), as GemmActivated.Backward does, with the transposed
// weight in w.
func (g *FusedBFloat16) ActivatedBackward(p *Pool, dh, h, dy []BFloat16, w PackedBFloat16, rows int, f Activation) {
	g.activated = activatedRows{half: storedRows{dh, w.n}, x: h, f: f, path: pathOf[float32](0)}
	g.run(p, rows, dy, w, dh, &g.activated)
}

// SwiGLU computes value = x w and y = silu(gate) ⊙ value, as GemmSwiGLU.Forward does.
func (g *FusedBFloat16) SwiGLU(p *Pool, y, value, gate, x []BFloat16, w PackedBFloat16, rows int) {
	g.swiGLU = swiGLURows{half: storedRows{value, w.n}, y: y, gate: gate, path: pathOf[float32](0)}
	g.run(p, rows, x, w, value, &g.swiGLU)
}

// SwiGLUBackward computes the gradients of gate and value, as GemmSwiGLU.Backward does, with the
// transposed weight in w.
func (g *FusedBFloat16) SwiGLUBackward(p *Pool, dgate, dvalue, gate, value, dy []BFloat16, w PackedBFloat16, rows int) {
	g.swiGLU = swiGLURows{half: storedRows{dvalue, w.n}, y: dgate, gate: gate, value: value, path: pathOf[float32](0)}
	g.run(p, rows, dy, w, dvalue, &g.swiGLU)
}

// storedRows holds a product's C and the length of its rows.
type storedRows struct {
	c     []BFloat16
	width int
}

// round stores sums at (i, j), overwrites sums with their rounded values and returns where they lie
// in C.
func (h storedRows) round(p path, i, j int, sums []float32) (first, end int) {
	first = i*h.width + j
	end = first + len(sums)
	roundBFloat16(p, h.c[first:end], sums)
	widenBFloat16(p, sums, h.c[first:end])
	return first, end
}

// activatedRows applies an activation or, without y, its derivative at x.
type activatedRows struct {
	half storedRows
	y, x []BFloat16
	f    Activation
	path path
}

func (t *activatedRows) row(i, j int, sums, space []float32) {
	first, end := t.half.round(t.path, i, j, sums)
	if t.y != nil {
		activate(t.path, t.f, sums, sums)
		roundBFloat16(t.path, t.y[first:end], sums)
		return
	}
	x := space[:len(sums)]
	widenBFloat16(t.path, x, t.x[first:end])
	activateGradient(t.path, t.f, sums, sums, x)
	roundBFloat16(t.path, t.half.c[first:end], sums)
}

// swiGLURows computes y from gate and the product or, with a value, both gradients.
type swiGLURows struct {
	half           storedRows
	y, gate, value []BFloat16
	path           path
}

func (t *swiGLURows) row(i, j int, sums, space []float32) {
	first, end := t.half.round(t.path, i, j, sums)
	gate, value := space[:len(sums)], space[len(sums):2*len(sums)]
	widenBFloat16(t.path, gate, t.gate[first:end])
	if t.value == nil {
		swiGLU(t.path, sums, gate, sums)
		roundBFloat16(t.path, t.y[first:end], sums)
		return
	}
	widenBFloat16(t.path, value, t.value[first:end])
	swiGLUGradient(t.path, gate, sums, sums, gate, value)
	roundBFloat16(t.path, t.y[first:end], gate)
	roundBFloat16(t.path, t.half.c[first:end], sums)
}
