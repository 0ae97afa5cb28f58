package kernel

// normRows holds the rows of one block, n_i = factor_i source_i - shift_i.
type normRows[T Float] struct {
	stats         []statistics[T]
	source        []T // [rows, width]
	factor, shift []T // [rows]
	scratch       []T // [rows, width]
}

// Backward's blocks have up to backwardRows rows and about backwardBlock elements, a quarter of a
// second-level cache in float32. A piece of the rows, over which V is summed in T, consists of
// several blocks.
const (
	backwardRows  = 64
	backwardBlock = 1 << 16
	backwardPiece = 128
)

// reset makes room for blocks of rows of the given width and returns the number of rows of a block.
func (b *normRows[T]) reset(width int) int {
	rows := backwardRows
	for rows > backwardRows/4 && rows*width > backwardBlock {
		rows /= 2
	}
	b.stats = grow(b.stats, rows)
	b.factor, b.shift = grow(b.factor, rows), grow(b.shift, rows)
	return rows
}

// place prepares the rows x [rows, width] of the block, whose statistics are already set.
func (b *normRows[T]) place(p path, x []T, rows int) {
	width := len(x) / rows
	b.source = x
	for i, s := range b.stats[:rows] {
		b.factor[i], b.shift[i] = s.rstd, s.mean*s.rstd
		if b.shift[i] < -1 || b.shift[i] > 1 {
			b.source = grow(b.scratch, len(x))
			b.scratch = b.source
		}
	}
	if &b.source[0] == &x[0] {
		return
	}
	for i, s := range b.stats[:rows] {
		row, to := x[i*width:(i+1)*width], b.source[i*width:(i+1)*width]
		if b.shift[i] >= -1 && b.shift[i] <= 1 { // use the row as it is: its bits depend on no other row
			copy(to, row)
			continue
		}
		s.normalize(p, to, row)
		b.factor[i], b.shift[i] = 1, 0
	}
}

type normLinearBackward[T Float] struct {
	dx, addend, dz, z, x, mean, rstd []T
	d                                NormLinearParams
	path                             path
	weights                          *foldedWeights[T]
	workers                          []normLinearScratch[T]
	pieces                           pieces            // pieces of the rows
	v                                treeSums[T]       // [k, width], V^T without its shifts; empty if it is not wanted
	shifts                           treeSums[float64] // [k], of shift * dz
}

// normLinearScratch is one worker's memory.
type normLinearScratch[T Float] struct {
	normRows[T]
	most   int               // rows of a block
	v      *treeSum[T]       // of the rows' terms of V
	shifts *treeSum[float64] // of their shifts
	own    []T               // [rows], factor of the row itself in dx
	dh     []T               // [rows, k or k+1], rstd * dz, and for LayerNorm the part of dx that is equal in all elements
	dn     []T               // [rows, k], factor * dz
}

// Part computes the pieces [lo, hi).
func (t *normLinearBackward[T]) Part(worker, lo, hi int) {
	b := t.begin(worker)
	t.pieces.each(lo, hi, func(first, end int) { t.blocks(b, first, end) }, b.v, b.shifts)
}

// begin prepares a worker's memory for blocks of rows.
func (t *normLinearBackward[T]) begin(worker int) *normLinearScratch[T] {
	b, k := &t.workers[worker], t.d.K
	b.most = b.reset(t.d.Width)
	b.own, b.dh, b.dn = grow(b.own, b.most), grow(b.dh, b.most*(k+1)), grow(b.dn, b.most*k)
	b.v, b.shifts = t.v.begin(worker), t.shifts.begin(worker)
	return b
}

// blocks computes the rows [first, end), a block at a time.
func (t *normLinearBackward[T]) blocks(b *normLinearScratch[T], first, end int) {
	for ; first < end; first += b.most {
		t.rows(b, first, min(b.most, end-first), b.v.block, b.shifts.block)
	}
}

// rows computes dx of a block, and adds its terms to v and shifts.
func (t *normLinearBackward[T]) rows(b *normLinearScratch[T], first, rows int, v []T, shifts []float64) {
	width := t.d.Width
	x := t.x[first*width : (first+rows)*width] // [rows, width]
	for i := range rows {
		b.stats[i] = savedStatistics(t.path, x[i*width:(i+1)*width], t.mean, t.rstd, first+i, t.d.RMS)
	}
	b.place(t.path, x, rows)
	t.small(b, first, rows, shifts)
	t.gradX(b, first, rows)
	if v != nil {
		t.addW(b, rows, v)
	}
}

// small computes the factors of a block's products.
func (t *normLinearBackward[T]) small(b *normLinearScratch[T], first, rows int, shifts []float64) {
	k, step := t.d.K, t.d.columns()
	for i := range rows {
		dz := t.dz[(first+i)*k : (first+i+1)*k] // [k]
		z := t.z[(first+i)*k : (first+i+1)*k]   // [k]
		factor, shift, rstd := b.factor[i], b.shift[i], b.stats[i].rstd
		dh, dn := b.dh[i*step:(i+1)*step], b.dn[i*k:(i+1)*k]
		var sumH, sumHN float64
		for j, v := range dz {
			sumH += float64(v) * float64(t.weights.sums[j])
			sumHN += float64(v) * float64(z[j])
			shifts[j] += float64(shift) * float64(v)
			dh[j], dn[j] = rstd*v, factor*v
		}
		meanH, meanHN := T(sumH/float64(t.d.Width)), T(sumHN/float64(t.d.Width))
		if step > k {
			dh[k] = rstd * (meanHN*shift - meanH)
		}
		b.own[i] = -rstd * meanHN * factor
	}
}

// gradX computes dx of a block.
func (t *normLinearBackward[T]) gradX(b *normLinearScratch[T], first, rows int) {
	width, step := t.d.Width, t.d.columns()
	dx := t.dx[first*width : (first+rows)*width] // [rows, width]
	for i := range rows {
		setMultiple(t.path, dx[i*width:(i+1)*width], rowOf(t.addend, first+i, width), b.source[i*width:(i+1)*width], b.own[i])
	}
	product := newBlock[T](t.path, rows, width, step, false)
	product.multiply(dx, b.dh, t.weights.transposed, dx)
}

// addW adds a block's part of V to v.
func (t *normLinearBackward[T]) addW(b *normLinearScratch[T], rows int, v []T) {
	width, k := t.d.Width, t.d.K
	product := newBlock[T](t.path, k, width, rows, true)
	product.multiply(v, b.dn, b.source, v)
}

// setMultiple computes out = addend + factor * x; a nil addend means zero. out may be the addend.
func setMultiple[T Float](p path, out, addend, x []T, factor T) {
	if addend == nil {
		scaleTo(p, out, x, factor)
		return
	}
	if &out[0] != &addend[0] {
		copy(out, addend)
	}
	addMultiple(p, out, x, factor)
}

// normLinearCollect computes dgain and dw from V.
type normLinearCollect[T Float] struct {
	dgain, dw, gain, w          []T
	d                           NormLinearParams
	accumulateGain, accumulateW bool
	v, shifts                   []float64
}

func (t *normLinearCollect[T]) Part(_, lo, hi int) {
	width, k := t.d.Width, t.d.K
	first, end := groupColumns(lo, hi, width)
	for i := first; i < end; i++ {
		gain, sum := 1.0, 0.0
		if t.gain != nil {
			gain = float64(t.gain[i])
		}
		for j := range k {
			v := t.v[j*width+i] - t.shifts[j]
			sum += v * float64(t.w[i*k+j])
			if t.dw != nil {
				store(&t.dw[i*k+j], gain*v, t.accumulateW)
			}
		}
		if t.dgain != nil {
			store(&t.dgain[i], sum, t.accumulateGain)
		}
	}
}

// store writes v to x, or adds it if accumulate is true.
func store[T Float](x *T, v float64, accumulate bool) {
	if accumulate {
		v += float64(*x)
	}
	*x = T(v)
}
