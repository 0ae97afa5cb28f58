package kernel

import "math"

// NormLinearParams are the sizes and the kind of a NormLinear.
type NormLinearParams struct {
	Rows  int     // normalised one by one
	Width int     // elements in a row
	K     int     // columns of the product, few
	RMS   bool    // RMSNorm instead of LayerNorm
	Eps   float64 // added to the variance, or to the mean square
}

// columns is the number of rows of foldedWeights.
func (d NormLinearParams) columns() int {
	if d.RMS {
		return d.K
	}
	return d.K + 1
}

// NormLinear normalises rows and multiplies them by a narrow matrix:
//
//	z_i = (n_i * gain) w,   n_i = (x_i - mean_i) * rstd_i
//
// as the mixing coefficients of hyper-connections begin (Zhu et al. 2024, arXiv
// 2409.19606, section 2.3; arXiv 2512.24880, section 4). The normalised rows are never
// stored: with W = gain * w and s the sums of W's columns
//
//	z_i = rstd_i (x_i W) - mean_i rstd_i s
//
// A row whose mean is larger than its deviation, where this difference would cost
// digits, is centred in scratch memory first. Rows are taken in blocks that stay in the
// second-level cache between the passes over them.
type NormLinear[T Float] struct {
	// Addend, where not nil, is added to Backward's dx; dx may be Addend itself (see Norm).
	Addend []T

	weights  foldedWeights[T]
	forward  normLinearForward[T]
	backward normLinearBackward[T]
	collect  normLinearCollect[T]
	path     path
}

// Forward computes z [rows, k] from x [rows, width], gain [width] and w [width, k]; a nil
// gain is one. It saves mean [rows] and rstd [rows] for Backward. RMSNorm does not use
// mean, which may be nil then.
func (k *NormLinear[T]) Forward(p *Pool, z, x, gain, w, mean, rstd []T, d NormLinearParams) {
	t := &k.forward
	t.z, t.x, t.mean, t.rstd, t.d = z, x, mean, rstd, d
	t.path, t.weights = pathOf[T](k.path), &k.weights
	t.weights.fold(t.path, gain, w, d)
	t.workers = growKept(t.workers, p.Threads())
	p.Do(d.Rows, t)
}

// Backward computes the gradients of Forward's x, gain and w from dz, that of z:
//
//	h_i = dz_i W^T,  mean(h_i) = dz_i . s / width,  mean(h_i * n_i) = dz_i . z_i / width
//	dx_i = (h_i - mean(h_i) - n_i * mean(h_i * n_i)) * rstd_i    (RMSNorm: without mean(h_i))
//	V = sum over rows of n_i^T dz_i                              [width, k]
//	dw = gain * V,  dgain = sums of the rows of w * V
//
// Each of dgain and dw may be nil: not wanted. accumulateGain (accumulateW) says that
// dgain (dw) is added to what the slice holds; dx is always overwritten. dx may not be x.
func (k *NormLinear[T]) Backward(p *Pool, dx, dgain, dw, dz, z, x, gain, w, mean, rstd []T, accumulateGain, accumulateW bool, d NormLinearParams) {
	t := &k.backward
	t.dx, t.dz, t.z, t.x, t.mean, t.rstd, t.d = dx, dz, z, x, mean, rstd, d
	t.addend, t.path, t.weights = k.Addend, pathOf[T](k.path), &k.weights
	t.wantW = dgain != nil || dw != nil
	t.weights.fold(t.path, gain, w, d)
	t.workers = growKept(t.workers, p.Threads())
	p.Do(d.Rows, t)
	if t.wantW {
		k.collect = normLinearCollect[T]{dgain: dgain, dw: dw, gain: gain, w: w, d: d,
			accumulateGain: accumulateGain, accumulateW: accumulateW, workers: t.workers}
		p.Do(columnGroups(d.Width), &k.collect)
	}
}

// foldedWeights are W = gain * w in the order that the products read.
type foldedWeights[T Float] struct {
	turned []T // [k, width], W^T; LayerNorm: and a row of ones
	sums   []T // [k], those of W's columns; RMSNorm: zero
}

func (f *foldedWeights[T]) fold(p path, gain, w []T, d NormLinearParams) {
	width, k := d.Width, d.K
	f.turned, f.sums = grow(f.turned, (k+1)*width), grow(f.sums, k)
	transpose(p, f.turned, width, w, k, width, k)
	for j := range k {
		row := f.turned[j*width : (j+1)*width]
		if gain != nil {
			multiply(p, row, row, gain[:width])
		}
		f.sums[j] = 0
		if !d.RMS {
			f.sums[j] = T(sumAbout(p, row, 0))
		}
	}
	ones := f.turned[k*width:]
	for i := range ones {
		ones[i] = 1
	}
}

// normRows are the rows of one block, n_i = factor_i source_i - shift_i.
type normRows[T Float] struct {
	stats         []statistics[T]
	source        []T // [rows, width]
	factor, shift []T // [rows]
	scratch       []T // [rows, width]
}

// Backward's blocks have up to backwardRows rows (four tiles of the widest micro-kernels)
// and about backwardBlock elements, a quarter of a second-level cache in float32.
const (
	backwardRows  = 56
	backwardBlock = 1 << 16
)

// reset makes room for blocks of rows of the given width and returns their size.
func (b *normRows[T]) reset(width int) int {
	rows := min(backwardRows, max(backwardRows/4, backwardBlock/width))
	b.stats = grow(b.stats, rows)
	b.factor, b.shift = grow(b.factor, rows), grow(b.shift, rows)
	return rows
}

// place makes the rows x [rows, width] of the block ready, whose stats are set.
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
		if b.shift[i] >= -1 && b.shift[i] <= 1 { // as it is: a row's bits depend on no other
			copy(to, row)
			continue
		}
		s.normalize(p, to, row)
		b.factor[i], b.shift[i] = 1, 0
	}
}

type normLinearForward[T Float] struct {
	z, x, mean, rstd []T
	d                NormLinearParams
	path             path
	weights          *foldedWeights[T]
	workers          []normLinearRows[T]
}

// normLinearRows is one worker's memory for the rows that it works on.
type normLinearRows[T Float] struct {
	squares  []float64 // [rows], sums of x^2
	products []T       // [rows, k or k+1], x W^T, and LayerNorm's sums of x
	centred  []T       // [width]
}

// forwardRows is the number of rows that go through the products together: a tile of the
// widest micro-kernels.
const forwardRows = 4

func (t *normLinearForward[T]) Part(worker, lo, hi int) {
	d, w := t.d, &t.workers[worker]
	columns := d.columns()
	w.squares, w.products, w.centred = grow(w.squares, forwardRows), grow(w.products, forwardRows*columns), grow(w.centred, d.Width)
	for ; lo < hi; lo += forwardRows {
		rows := min(forwardRows, hi-lo)
		x := t.x[lo*d.Width : (lo+rows)*d.Width] // [rows, width]
		for i := range rows {
			w.squares[i] = squaresAbout(t.path, x[i*d.Width:(i+1)*d.Width], 0, 0)
		}
		t.multiply(w.products, x, t.x[(lo+rows)*d.Width:])
		for i := range rows {
			t.finish(w, lo+i, x[i*d.Width:(i+1)*d.Width], w.products[i*columns:(i+1)*columns], w.squares[i])
		}
	}
}

// multiply computes products = x W^T for the rows x, a few columns at a time, and starts
// loading a part of what comes next each time.
func (t *normLinearForward[T]) multiply(products, x, next []T) {
	width, columns := t.d.Width, t.d.columns()
	part := len(x) * dotCols / columns
	product := dots[T]{path: t.path, m: len(x) / width, k: width, cs: columns}
	for j := 0; j < columns; j += dotCols {
		ahead := min(part, len(next))
		prefetch(next[:ahead])
		next = next[ahead:]
		product.n = min(dotCols, columns-j)
		product.run(products[j:], x, t.weights.turned[j*width:])
	}
}

// finish makes z of row i, x, from x W^T and its sum of squares.
func (t *normLinearForward[T]) finish(w *normLinearRows[T], i int, x, products []T, squares float64) {
	k := t.d.K
	z := t.z[i*k : (i+1)*k]
	s := t.statistics(products, squares)
	s.save(t.mean, t.rstd, i)
	shift := s.mean * s.rstd
	if shift >= -1 && shift <= 1 {
		for j, sum := range t.weights.sums {
			z[j] = s.rstd*products[j] - shift*sum
		}
		return
	}
	s = rowStatistics(t.path, x, t.d.RMS, t.d.Eps)
	s.save(t.mean, t.rstd, i)
	s.normalize(t.path, w.centred, x)
	product := dots[T]{path: t.path, m: 1, n: k, k: t.d.Width, cs: k}
	product.run(z, w.centred, t.weights.turned)
}

// statistics are those of a row whose mean is not larger than its deviation.
func (t *normLinearForward[T]) statistics(products []T, squares float64) statistics[T] {
	mean, width := 0.0, float64(t.d.Width)
	if !t.d.RMS {
		mean = float64(products[t.d.K]) / width
	}
	variance := max(0, squares/width-mean*mean)
	return statistics[T]{mean: T(mean), rstd: T(1 / math.Sqrt(variance+t.d.Eps))}
}

type normLinearBackward[T Float] struct {
	dx, dz, z, x, mean, rstd []T
	addend                   []T
	wantW                    bool
	d                        NormLinearParams
	path                     path
	weights                  *foldedWeights[T]
	workers                  []normLinearScratch[T]
}

// normLinearScratch is one worker's memory.
type normLinearScratch[T Float] struct {
	normRows[T]
	own       []T           // [rows], the part of dx that the row itself has
	dh        []T           // [rows, k or k+1], rstd * dz, and LayerNorm's part in every element
	dn        []T           // [rows, k], factor * dz
	v         blockedSum[T] // [k, width], V^T without its shifts
	shiftSums []float64     // [k], of shift * dz
}

// flushBlocks is the number of blocks whose V is summed in T.
const flushBlocks = 4

func (t *normLinearBackward[T]) Part(worker, lo, hi int) {
	width, k, b := t.d.Width, t.d.K, &t.workers[worker]
	rows := b.reset(width)
	b.own, b.dh, b.dn = grow(b.own, rows), grow(b.dh, rows*(k+1)), grow(b.dn, rows*k)
	b.v.reset(t.path, k*width)
	b.shiftSums = grow(b.shiftSums, k)
	clear(b.shiftSums)
	for n := 1; lo < hi; n++ {
		rows = min(rows, hi-lo)
		x := t.x[lo*width : (lo+rows)*width] // [rows, width]
		for i := range rows {
			b.stats[i] = savedStatistics(t.path, x[i*width:(i+1)*width], t.mean, t.rstd, lo+i, t.d.RMS)
		}
		b.place(t.path, x, rows)
		t.small(b, lo, rows)
		t.gradX(b, lo, rows)
		if t.wantW {
			t.addW(b, rows)
		}
		if n%flushBlocks == 0 {
			b.v.flush()
		}
		lo += rows
	}
	b.v.flush()
}

// small makes the factors of a block's products.
func (t *normLinearBackward[T]) small(b *normLinearScratch[T], first, rows int) {
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
			b.shiftSums[j] += float64(shift) * float64(v)
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
	product := block[T]{kernels: kernelsOf[T](t.path), m: rows, n: width}
	product.panel = product.kernels.width()
	product.tile = tile[T]{a: &b.dh[0], as: step, b: &t.weights.turned[0], bs: width, k: step,
		c: &dx[0], d: &dx[0], cs: width, alpha: 1, beta: 1}
	product.run()
}

// addW adds a block's part of V.
func (t *normLinearBackward[T]) addW(b *normLinearScratch[T], rows int) {
	width, k := t.d.Width, t.d.K
	product := block[T]{kernels: kernelsOf[T](t.path), m: k, n: width, transposed: true}
	product.panel = product.kernels.width()
	product.tile = tile[T]{a: &b.dn[0], as: k, b: &b.source[0], bs: width, k: rows,
		c: &b.v.block[0], d: &b.v.block[0], cs: width, alpha: 1, beta: 1}
	product.run()
}

// setMultiple computes out = addend + factor * x; a nil addend is zero. out may be the
// addend.
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

// normLinearCollect makes dgain and dw of the workers' V.
type normLinearCollect[T Float] struct {
	dgain, dw, gain, w          []T
	d                           NormLinearParams
	accumulateGain, accumulateW bool
	workers                     []normLinearScratch[T]
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
			v := 0.0
			for w := range t.workers {
				v += t.workers[w].v.total[j*width+i] - t.workers[w].shiftSums[j]
			}
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

// store writes v to x, or adds it.
func store[T Float](x *T, v float64, accumulate bool) {
	if accumulate {
		v += float64(*x)
	}
	*x = T(v)
}
