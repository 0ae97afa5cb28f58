package kernel

// NormLinearParams are the sizes and the kind of a NormLinear.
type NormLinearParams struct {
	Rows  int     // each is normalised separately
	Width int     // elements in a row
	K     int     // columns of the product; few
	RMS   bool    // RMSNorm instead of LayerNorm
	Eps   float64 // added to the variance, or to the mean square
}

// columns returns the number of rows of foldedWeights.
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
// the first step of the mixing coefficients of hyper-connections (Zhu et al. 2024, arXiv
// 2409.19606, section 2.3; arXiv 2512.24880, section 4). The normalised rows are never stored: with
// W = gain * w and s the sums of W's columns
//
//	z_i = rstd_i (x_i W) - mean_i rstd_i s
//
// For a row whose mean is larger than its deviation, this difference would cost digits: the row is
// first centred in scratch memory. Rows are taken in blocks that stay in the second-level cache
// between the passes over them.
type NormLinear[T Float] struct {
	weights  foldedWeights[T]
	forward  normLinearForward[T]
	backward normLinearBackward[T]
	collect  normLinearCollect[T]
	path     path
}

// Forward computes z [rows, k] from x [rows, width], gain [width] and w [width, k]; a nil gain
// means one. It saves mean [rows] and rstd [rows] for Backward. RMSNorm does not use mean, which
// may then be nil.
func (k *NormLinear[T]) Forward(p *Pool, z, x, gain, w, mean, rstd []T, d NormLinearParams) {
	p.Do(d.Rows, k.forwardOf(p, z, x, gain, w, mean, rstd, d))
}

// forwardOf returns what Forward runs on rows.
func (k *NormLinear[T]) forwardOf(p *Pool, z, x, gain, w, mean, rstd []T, d NormLinearParams) *normLinearForward[T] {
	t := &k.forward
	t.z, t.x, t.mean, t.rstd, t.d = z, x, mean, rstd, d
	t.path, t.weights = pathOf[T](k.path), &k.weights
	t.weights.fold(t.path, gain, w, d)
	t.workers = growKept(t.workers, p.Threads())
	return t
}

// Backward computes the gradients of Forward's x, gain and w from dz, the gradient of z:
//
//	h_i = dz_i W^T,  mean(h_i) = dz_i . s / width,  mean(h_i * n_i) = dz_i . z_i / width
//	dx_i = (h_i - mean(h_i) - n_i * mean(h_i * n_i)) * rstd_i    (RMSNorm: without mean(h_i))
//	V = sum over rows of n_i^T dz_i                              [width, k]
//	dw = gain * V,  dgain = sums of the rows of w * V
//
// Each of g.Gain and g.W may be nil if it is not wanted. g.AddToGain (g.AddToW) adds to what the
// slice holds; g.X is always overwritten. It must not be x; it may be g.AddendX, which is added to
// it unless it is nil (see Norm).
func (k *NormLinear[T]) Backward(p *Pool, g NormLinearGrads[T], dz, z, x, gain, w, mean, rstd []T, d NormLinearParams) {
	t := k.backwardOf(p, g, dz, z, x, gain, w, mean, rstd, d)
	t.pieces = pieces{d.Rows, backwardPiece}
	p.Do(t.pieces.number(), t)
	k.finish(p, g, gain, w, d)
}

// NormLinearGrads holds the slices for the gradients of a NormLinear, and what they are added to.
type NormLinearGrads[T Float] struct {
	X, AddendX        []T
	Gain, W           []T
	AddToGain, AddToW bool
}

// backwardOf returns what Backward runs on pieces of the rows.
func (k *NormLinear[T]) backwardOf(p *Pool, g NormLinearGrads[T], dz, z, x, gain, w, mean, rstd []T, d NormLinearParams) *normLinearBackward[T] {
	t := &k.backward
	t.dx, t.addend, t.dz, t.z, t.x, t.mean, t.rstd, t.d = g.X, g.AddendX, dz, z, x, mean, rstd, d
	t.path, t.weights = pathOf[T](k.path), &k.weights
	t.weights.fold(t.path, gain, w, d)
	t.workers = growKept(t.workers, p.Threads())
	t.v.set(p, t.path, choose(g.Gain != nil || g.W != nil, d.K*d.Width, 0))
	t.shifts.set(p, portable, d.K)
	return t
}

// finish computes the gradients of gain and w, once all pieces are done.
func (k *NormLinear[T]) finish(p *Pool, g NormLinearGrads[T], gain, w []T, d NormLinearParams) {
	if g.Gain == nil && g.W == nil {
		return
	}
	k.collect = normLinearCollect[T]{dgain: g.Gain, dw: g.W, gain: gain, w: w, d: d,
		accumulateGain: g.AddToGain, accumulateW: g.AddToW, v: k.backward.v.total(p), shifts: k.backward.shifts.total(p)}
	p.Do(columnGroups(d.Width), &k.collect)
}

// foldedWeights holds W = gain * w in the order in which the products read it.
type foldedWeights[T Float] struct {
	transposed []T // [k, width], W^T; for LayerNorm also a row of ones
	sums       []T // [k], sums of W's columns; for RMSNorm zero
}

func (f *foldedWeights[T]) fold(p path, gain, w []T, d NormLinearParams) {
	width, k := d.Width, d.K
	f.transposed, f.sums = grow(f.transposed, (k+1)*width), grow(f.sums, k)
	transpose(p, f.transposed, width, w, k, width, k)
	for j := range k {
		row := f.transposed[j*width : (j+1)*width]
		if gain != nil {
			multiply(p, row, row, gain[:width])
		}
		f.sums[j] = 0
		if !d.RMS {
			f.sums[j] = T(sumAbout(p, row, 0))
		}
	}
	ones := f.transposed[k*width:]
	for i := range ones {
		ones[i] = 1
	}
}
