package kernel

// GatedWrite adds a sublayer's output to each row of a stream, with a separate factor for each row,
// as gated residuals do (arXiv 2608.30320): with x_t the projection of token t, whose last n
// columns are used,
//
//	s_t = 2 sigmoid(x_t[width-n:] / n);   out_t[i] = r_t[i] + s_t[i] y_t
type GatedWrite[T Float] struct {
	forward  gatedWriteForward[T]
	backward gatedWriteBackward[T]
	path     path
}

// Forward computes out [tokens, n, d] from r of the same shape, y [tokens, d] and x [tokens,
// width]. out may be r.
func (k *GatedWrite[T]) Forward(p *Pool, out, r, y, x []T, d GatedParams) {
	t := &k.forward
	t.out, t.r, t.y, t.x, t.d, t.path = out, r, y, x, d, pathOf[T](k.path)
	t.write = newCombination[T](k.path, d.N, d.D, coefficients{k: 1, stride: 1})
	t.scratch = growRows(t.scratch, p, d.N)
	p.Do(d.Tokens, t)
}

type gatedWriteForward[T Float] struct {
	write        combination[T]
	out, r, y, x []T
	d            GatedParams
	path         path
	scratch      [][]T // s of a token, for each worker
}

func (t *gatedWriteForward[T]) Part(worker, lo, hi int) {
	write, d, s := t.write, t.d, t.scratch[worker]
	size := d.stream()
	ahead := tokensAhead[T](size)
	for i := lo; i < hi; i++ {
		prefetchToken(t.r, i+ahead, size)
		prefetchToken(t.out, i+ahead, size)
		rowFactors(t.path, s, rowOf(t.x, i, d.Width))
		write.run(rowOf(t.out, i, size), s, rowOf(t.y, i, d.D), nil, nil, rowOf(t.r, i, size))
	}
}

// rowFactors computes s [n] = 2 sigmoid(x[width-n:] / n).
func rowFactors[T Float](p path, s, x []T) {
	n := len(s)
	scaleTo(p, s, x[len(x)-n:], 1/T(n))
	sigmoid(p, s, s)
	scaleTo(p, s, s, 2)
}

// Backward computes the gradients of Forward's y and x from dout [tokens, n, d], the gradient of
// out and also of r:
//
//	dy_t = sum over i of s_t[i] dout_t[i];   ds_t[i] = dout_t[i] . y_t
//
// dx, which may be nil, has zeros in the columns that are not used. accumulateY (accumulateX) adds
// dy (dx) to what the slice holds.
func (k *GatedWrite[T]) Backward(p *Pool, dy, dx, dout, y, x []T, accumulateY, accumulateX bool, d GatedParams) {
	t := &k.backward
	t.dy, t.dx, t.dout, t.y, t.x = dy, dx, dout, y, x
	t.d, t.path, t.accumulateY, t.accumulateX = d, pathOf[T](k.path), accumulateY, accumulateX
	t.sum = newCombination[T](k.path, 1, d.D, coefficients{k: d.N, stride: 1, transposed: true})
	t.dots = dots[T]{path: t.path, m: d.N, n: 1, k: d.D, cs: 1}
	t.scratch = growRows(t.scratch, p, 2*d.N)
	p.Do(d.Tokens, t)
}

type gatedWriteBackward[T Float] struct {
	sum                      combination[T]
	dots                     dots[T]
	dy, dx, dout, y, x       []T
	d                        GatedParams
	accumulateY, accumulateX bool
	path                     path
	scratch                  [][]T // s and ds of a token, for each worker
}

func (t *gatedWriteBackward[T]) Part(worker, lo, hi int) {
	sum, dots, d := t.sum, t.dots, t.d
	size := d.stream()
	s, ds := t.scratch[worker][:d.N], t.scratch[worker][d.N:]
	ahead := tokensAhead[T](size)
	for i := lo; i < hi; i++ {
		prefetchToken(t.dout, i+ahead, size)
		dout, dy := rowOf(t.dout, i, size), rowOf(t.dy, i, d.D)
		rowFactors(t.path, s, rowOf(t.x, i, d.Width))
		if t.dx != nil {
			dots.run(ds, dout, rowOf(t.y, i, d.D))
			t.addFactors(rowOf(t.dx, i, d.Width), s, ds)
		}
		sum.run(dy, s, dout, nil, nil, kept(dy, t.accumulateY))
	}
}

// addFactors computes a token's dx from s and its gradient: with o = s/2, the derivative of 2
// sigmoid(x/n) is 2 o (1 - o) / n.
func (t *gatedWriteBackward[T]) addFactors(dx, s, ds []T) {
	if !t.accumulateX {
		clear(dx)
	}
	dx = dx[len(dx)-len(s):]
	for i, v := range s {
		open := float64(v) / 2
		dx[i] += T(2 * open * (1 - open) / float64(len(s)) * float64(ds[i]))
	}
}
