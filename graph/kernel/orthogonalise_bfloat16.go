package kernel

// bfloat16Orthogonaliser does what orthogonaliser does, with products of bfloat16 and sums in
// float32.
//
// X and the polynomials of its Gram matrix stay in float32; the products read rounded copies.
// Rounding a matrix to bfloat16 changes it by 1/500 of its largest entries. This may be more than
// the small singular values, which the iteration raises 3.4445-fold a step. So a symmetric matrix
// is split into a multiple of the identity, the mean of its diagonal, and the rest, and only the
// rest is rounded:
//
//	(s I + F) (t I + G) = s t I + s G + t F + F G
//
// and X becomes q X + Q X. With three steps on one Gram matrix and two on another, the update is
// within 1% of the exact one for a matrix of noise, and within 6% for a nearly low-rank one
// (TestMuonBFloat16). The published iteration with X and all products rounded, as its author runs
// it, is off by 2% and by 50% to 60%.
type bfloat16Orthogonaliser struct {
	lower, whole        GemmBFloat16[float32]
	first, second       WeightsBFloat16
	rows, columns, side int
	x, y                []float32
	half                []BFloat16 // X rounded
	a, b, q, c          shiftedMatrix
	path                path
}

// shiftedMatrix is the symmetric matrix shift I + rest.
type shiftedMatrix struct {
	shift float32
	rest  []float32  // [side, side]
	half  []BFloat16 // rest rounded
}

// prepare makes room for X and returns it for the caller to fill.
func (o *bfloat16Orthogonaliser) prepare(rows, columns int) []float32 {
	o.rows, o.columns, o.side = rows, columns, min(rows, columns)
	o.x, o.y, o.half = grow(o.x, rows*columns), grow(o.y, rows*columns), grow(o.half, rows*columns)
	for _, m := range []*shiftedMatrix{&o.a, &o.b, &o.q, &o.c} {
		m.rest, m.half = grow(m.rest, o.side*o.side), grow(m.half, o.side*o.side)
	}
	for _, g := range []*GemmBFloat16[float32]{&o.lower, &o.whole} {
		g.path = o.path
	}
	o.lower.lower, o.first.path, o.second.path = true, o.path, o.path
	return o.x
}

// run runs the iteration and returns X, which is valid until the next prepare.
func (o *bfloat16Orthogonaliser) run() []float32 {
	for _, steps := range [...]int{schulzSteps - 2, 2} { // numbers of steps, each on one Gram matrix
		o.advance(steps)
	}
	return o.x
}

// advance takes several steps on the Gram matrix, and applies them to X.
func (o *bfloat16Orthogonaliser) advance(steps int) {
	roundBFloat16(pathOf[float32](o.path), o.half, o.x)
	o.gram()
	n := o.side
	for step := range steps {
		a := o.first.Pack(nil, false, n, n, o.a.half, n)
		o.polynomial(a)
		b := o.second.Pack(nil, false, n, n, o.b.half, n)
		if step > 0 {
			o.commuting(&o.c, &o.q, &o.b, b)
			o.q, o.c = o.c, o.q
		}
		if step+1 < steps {
			o.commuting(&o.c, &o.b, &o.a, a)
			o.commuting(&o.a, &o.c, &o.b, b)
		}
		if step == 0 {
			o.q, o.b = o.b, o.q
		}
	}
	o.multiply()
}

// gram computes a = X X^T, or X^T X if X has more rows than columns.
func (o *bfloat16Orthogonaliser) gram() {
	n, tall := o.side, o.rows > o.columns
	o.lower.addend = nil
	o.lower.Run(nil, tall, !tall, n, n, max(o.rows, o.columns), 1, o.half, o.columns, o.half, o.columns, 0, o.a.rest, n)
	o.a.shift = 0
	o.finish(&o.a)
}

// polynomial computes b = 3.4445 I - 4.7750 a + 2.0315 a a, given a's packed half.
func (o *bfloat16Orthogonaliser) polynomial(packed PackedBFloat16) {
	n, s := o.side, o.a.shift
	o.lower.addend = o.a.rest
	o.lower.RunPacked(nil, false, n, schulzQuintic, o.a.half, n, packed, schulzCubic+2*schulzQuintic*s, o.b.rest, n)
	o.b.shift = schulzLinear + s*(schulzCubic+schulzQuintic*s)
	o.finish(&o.b)
}

// commuting computes to = f g for symmetric matrices that commute; packed is g's packed half.
func (o *bfloat16Orthogonaliser) commuting(to, f, g *shiftedMatrix, packed PackedBFloat16) {
	n := o.side
	o.lower.addend = g.rest
	o.lower.RunPacked(nil, false, n, 1, f.half, n, packed, f.shift, to.rest, n)
	for i := range n {
		addMultiple(pathOf[float32](o.path), to.rest[i*n:i*n+i+1], f.rest[i*n:i*n+i+1], g.shift)
	}
	to.shift = f.shift * g.shift
	o.finish(to)
}

// finish moves the mean of the diagonal from the rest, of which only the lower half is computed, to
// the shift, and rounds the rest.
func (o *bfloat16Orthogonaliser) finish(m *shiftedMatrix) {
	n, sum := o.side, 0.0
	for i := range n {
		sum += float64(m.rest[i*n+i])
	}
	mean := float32(sum / float64(n))
	m.shift += mean
	for i := range n {
		m.rest[i*n+i] -= mean
	}
	path := pathOf[float32](o.path)
	mirror(path, m.rest, n)
	roundBFloat16(path, m.half, m.rest)
}

// multiply computes X = q X, or X q.
func (o *bfloat16Orthogonaliser) multiply() {
	n := o.side
	o.whole.addend = o.x
	if o.rows <= o.columns {
		o.whole.Run(nil, false, false, n, o.columns, n, 1, o.q.half, n, o.half, o.columns, o.q.shift, o.y, o.columns)
	} else {
		o.whole.Run(nil, false, false, o.rows, n, n, 1, o.half, n, o.q.half, n, o.q.shift, o.y, n)
	}
	o.x, o.y = o.y, o.x
}
