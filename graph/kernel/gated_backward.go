package kernel

// GatedReadGrads holds the slices for the gradients of a GatedRead: X [tokens, width], to which
// Addend is added unless it is nil and which may be Addend; Z [tokens, n, d] and W [rank, n d], nil
// if they are not wanted.
type GatedReadGrads[T Float] struct {
	X, Addend, Z, W []T
	AddToZ, AddToW  bool // add to what the slices hold
}

// Backward computes the gradients of Forward's x, z and w from du [tokens, d], the gradient of u:
//
//	dz_t[i] = du_t ⊙ sigmoid(a_t[i]) / n;   da_t[i] = du_t ⊙ z_t[i] ⊙ sigmoid'(a_t[i]) / n
//	dW = sum over t of h_t^T da_t;   dx_t[:rank] = silu'(x_t[:rank] / n) ⊙ (da_t W^T) / n + Addend_t[:rank]
//
// The gradient of x's other entries is Addend.
func (k *GatedRead[T]) Backward(p *Pool, grads GatedReadGrads[T], du, z, x, w []T, d GatedParams) {
	t, size := &k.backward, d.stream()
	k.up = panels(kernelsOf[T](k.path), k.up, w, d.Rank, size)
	k.down = grow(k.down, size*d.Rank)
	transpose(pathOf[T](k.path), k.down, d.Rank, w, size, d.Rank, size)
	t.gatedReadTask = newGatedReadTask(k.path, k.up, x, d)
	t.down, t.grads, t.du, t.z = k.down, grads, du, z
	t.scratch = growKept(t.scratch, p.Threads())
	t.dw.want(p, t.path, grads.W, grads.AddToW)
	t.tokens = pieces{d.Tokens, gatedPiece}
	p.Do(t.tokens.number(), t)
	t.dw.store(p)
}

type gatedReadBackward[T Float] struct {
	gatedReadTask[T]
	down    []T
	grads   GatedReadGrads[T]
	du, z   []T
	tokens  pieces
	scratch []gatedGradScratch[T] // one for each worker
	dw      treeSums[T]
}

// gatedGradScratch is a worker's memory.
type gatedGradScratch[T Float] struct {
	gatedScratch[T]     // the gates hold a block's gates, then their gradients
	dhidden         []T // [tokens, rank]
	share, dz       []T // [d]: du/n of a token, and a row of dz; [2, rank]: h's argument and its slope
	slopes          []T
}

// Part computes the pieces [lo, hi).
func (t *gatedReadBackward[T]) Part(worker, lo, hi int) {
	s, most := &t.scratch[worker], t.together()
	s.share, s.dz, s.slopes = grow(s.share, t.d.D), grow(s.dz, t.d.D), grow(s.slopes, 2*t.d.Rank)
	s.dhidden = grow(s.dhidden, most*t.d.Rank)
	dw := t.dw.begin(worker)
	t.tokens.each(lo, hi, func(first, last int) {
		for ; first < last; first += most {
			end := min(first+most, last)
			t.open(&s.gatedScratch, first, end)
			t.gradGates(s, first, end)
			if dw.block != nil {
				t.addW(s, dw.block, end-first)
			}
			t.gradX(s, first, end)
		}
	}, dw)
}

// gradGates computes dz of the tokens [lo, hi), and overwrites their gates with the gates'
// gradients.
func (t *gatedReadBackward[T]) gradGates(s *gatedGradScratch[T], lo, hi int) {
	n, d := t.d.N, t.d.D
	ahead := tokensAhead[T](t.d.stream())
	for i := lo; i < hi; i++ {
		prefetchToken(t.z, i+ahead, t.d.stream())
		prefetchToken(t.grads.Z, i+ahead, t.d.stream())
		scaleTo(t.path, s.share, rowOf(t.du, i, d), 1/T(n))
		for c := range n {
			dz, gates := rowOf(t.grads.Z, i*n+c, d), t.row(&s.gatedScratch, i-lo, c)
			to := dz
			if dz == nil || t.grads.AddToZ {
				to = s.dz
			}
			gatedQuickGradient(t.path, gates, to, s.share, gates, rowOf(t.z, i*n+c, d))
			if dz != nil && t.grads.AddToZ {
				addTo(t.path, dz, to)
			}
		}
	}
}

// addW adds h^T da of a block's tokens to dW.
func (t *gatedReadBackward[T]) addW(s *gatedGradScratch[T], dw []T, tokens int) {
	x := newBlock[T](t.path, t.d.Rank, t.d.stream(), tokens, true)
	x.tile.bs = gatedStride(t.d.stream())
	x.multiply(dw, s.hidden, s.gates, dw)
}

// gradX computes dx of the tokens [lo, hi).
func (t *gatedReadBackward[T]) gradX(s *gatedGradScratch[T], lo, hi int) {
	rank, size := t.d.Rank, t.d.stream()
	x := newBlock[T](t.path, hi-lo, rank, size, false)
	x.tile.as = gatedStride(size)
	x.multiply(s.dhidden, s.gates, t.down, nil)
	scaled, slope := s.slopes[:rank], s.slopes[rank:]
	for i := lo; i < hi; i++ {
		scaleTo(t.path, scaled, rowOf(t.x, i, t.d.Width)[:rank], 1/T(t.d.N))
		gatedGradientAlone(t.path, scaled, slope, rowOf(s.dhidden, i-lo, rank), scaled, scaled) // silu' dh in two terms
		addTo(t.path, slope, scaled)
		dx := rowOf(t.grads.X, i, t.d.Width)
		copyOver(dx, rowOf(t.grads.Addend, i, t.d.Width))
		addMultiple(t.path, dx[:rank], slope, 1/T(t.d.N))
	}
}
