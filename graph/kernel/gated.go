package kernel

// GatedParams are the sizes of a GatedRead or a GatedWrite, or of the projection before them.
type GatedParams struct {
	Tokens int
	N      int // n, rows of a token's stream
	D      int // d, elements in a row
	Width  int // of a token's projection x
}

func (d GatedParams) stream() int { return d.N * d.D }

// GatedRead reads from a stream of several rows by a gate for each entry, as gated residuals do
// (arXiv 2608.30320): with z_t [n, d] the normalised stream of token t and a_t [n, d] its gates
// before the sigmoid,
//
//	u_t = 1/n sum over i of sigmoid(a_t[i]) ⊙ z_t[i]
//
// It is computed as GLU's products are.
type GatedRead[T Float] struct {
	forward  gatedReadForward[T]
	backward gatedReadBackward[T]
	path     path
}

// Forward computes u [tokens, d] from z and a [tokens, n, d].
func (k *GatedRead[T]) Forward(p *Pool, u, z, a []T, d GatedParams) {
	size := d.Tokens * d.stream()
	k.forward = gatedReadForward[T]{u: u[:d.Tokens*d.D], z: z[:size], a: a[:size], d: d, path: pathOf[T](k.path)}
	p.Do(d.Tokens, &k.forward)
	k.forward = gatedReadForward[T]{} // keeps no operand alive
}

type gatedReadForward[T Float] struct {
	u, z, a []T
	d       GatedParams
	path    path
}

func (t *gatedReadForward[T]) Part(_, lo, hi int) {
	n, width := t.d.N, t.d.D
	for i := lo; i < hi; i++ {
		u := rowOf(t.u, i, width)
		gated(t.path, u, nil, rowOf(t.a, i*n, width), rowOf(t.z, i*n, width))
		for row := i*n + 1; row < (i+1)*n; row++ {
			gated(t.path, u, u, rowOf(t.a, row, width), rowOf(t.z, row, width))
		}
		scaleTo(t.path, u, u, 1/T(n))
	}
}

// Backward computes the gradients of Forward's a and z from du [tokens, d], that of u:
//
//	da_t[i] = du_t ⊙ z_t[i] ⊙ sigmoid'(a_t[i]) / n;   dz_t[i] = du_t ⊙ sigmoid(a_t[i]) / n
//
// da may be a; dz may be nil: not wanted. accumulate adds dz to what the slice holds.
func (k *GatedRead[T]) Backward(p *Pool, da, dz, du, z, a []T, accumulate bool, d GatedParams) {
	t, size := &k.backward, d.Tokens*d.stream()
	t.da, t.dz, t.du, t.z, t.a = da[:size], nil, du[:d.Tokens*d.D], z[:size], a[:size]
	if dz != nil {
		t.dz = dz[:size]
	}
	t.accumulate, t.d, t.path = accumulate && dz != nil, d, pathOf[T](k.path)
	t.scratch = growKept(t.scratch, p.Threads())
	p.Do(d.Tokens, t)
	t.da, t.dz, t.du, t.z, t.a = nil, nil, nil, nil, nil
}

type gatedReadBackward[T Float] struct {
	da, dz, du, z, a []T
	accumulate       bool
	d                GatedParams
	path             path
	scratch          [][]T // du/n of a token, and a row of dz that is not wanted, one a worker
}

func (t *gatedReadBackward[T]) Part(worker, lo, hi int) {
	n, width := t.d.N, t.d.D
	both := grow(t.scratch[worker], 2*width)
	t.scratch[worker] = both
	share, dz := both[:width], both[width:]
	for i := lo; i < hi; i++ {
		scaleTo(t.path, share, rowOf(t.du, i, width), 1/T(n))
		for row := i * n; row < (i+1)*n; row++ {
			if t.dz != nil {
				dz = rowOf(t.dz, row, width)
			}
			gatedGradient(t.path, rowOf(t.da, row, width), dz, share, rowOf(t.a, row, width), rowOf(t.z, row, width), kept(dz, t.accumulate))
		}
	}
}

// GatedHidden is the hidden layer between a gated residual's two projections: the SiLU of the
// columns of x that GatedWrite does not use, each divided by n first,
//
//	h_t = silu(x_t[:rank] / n),   silu(v) = v sigmoid(v)
type GatedHidden[T Float] struct {
	forward  gatedHiddenForward[T]
	backward gatedHiddenBackward[T]
	path     path
}

// Forward computes h [tokens, rank] from x [tokens, width]. h must not overlap x.
func (k *GatedHidden[T]) Forward(p *Pool, h, x []T, rank int, d GatedParams) {
	k.forward = gatedHiddenForward[T]{h: h[:d.Tokens*rank], x: x[:d.Tokens*d.Width], rank: rank, d: d, path: pathOf[T](k.path)}
	p.Do(d.Tokens, &k.forward)
	k.forward = gatedHiddenForward[T]{} // keeps no operand alive
}

type gatedHiddenForward[T Float] struct {
	h, x []T
	rank int
	d    GatedParams
	path path
}

func (t *gatedHiddenForward[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		h := rowOf(t.h, i, t.rank)
		scaleTo(t.path, h, rowOf(t.x, i, t.d.Width)[:t.rank], 1/T(t.d.N))
		gated(t.path, h, nil, h, h)
	}
}

// Backward computes dx [tokens, width] from dh [tokens, rank] and x; addend, where not nil, is added,
// and may be dx. The columns after the first rank have no other gradient.
func (k *GatedHidden[T]) Backward(p *Pool, dx, dh, x, addend []T, rank int, d GatedParams) {
	t, size := &k.backward, d.Tokens*d.Width
	t.dx, t.dh, t.x, t.addend, t.rank, t.d, t.path = dx[:size], dh[:d.Tokens*rank], x[:size], addend, rank, d, pathOf[T](k.path)
	t.scratch = growKept(t.scratch, p.Threads())
	p.Do(d.Tokens, t)
	t.dx, t.dh, t.x, t.addend = nil, nil, nil, nil
}

type gatedHiddenBackward[T Float] struct {
	dx, dh, x, addend []T
	rank              int
	d                 GatedParams
	path              path
	scratch           [][]T // [2, rank], one a worker
}

func (t *gatedHiddenBackward[T]) Part(worker, lo, hi int) {
	both := grow(t.scratch[worker], 2*t.rank)
	t.scratch[worker] = both
	scaled, slope := both[:t.rank], both[t.rank:]
	for i := lo; i < hi; i++ {
		scaleTo(t.path, scaled, rowOf(t.x, i, t.d.Width)[:t.rank], 1/T(t.d.N))
		gatedGradient(t.path, slope, scaled, rowOf(t.dh, i, t.rank), scaled, scaled, nil) // silu' dh in two terms
		addTo(t.path, slope, scaled)
		dx := rowOf(t.dx, i, t.d.Width)
		if t.addend == nil {
			clear(dx)
		} else {
			copy(dx, rowOf(t.addend, i, t.d.Width))
		}
		addMultiple(t.path, dx[:t.rank], slope, 1/T(t.d.N))
	}
}
