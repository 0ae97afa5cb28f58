package kernel

import "math"

// NormParams are the sizes and the kind of a normalisation.
type NormParams struct {
	Rows  int     // normalised one by one
	Width int     // elements in a row
	RMS   bool    // RMSNorm instead of LayerNorm
	Eps   float64 // added to the variance, or to the mean square

	// Groups is the number of gains: row i has gain number i mod Groups. 0 is 1. Rows is a
	// multiple of it.
	Groups int
}

// groups is Groups with its default.
func (d *NormParams) groups() int { return max(1, d.Groups) }

// Norm normalises rows. LayerNorm (Ba et al. 2016, arXiv 1607.06450, eq. 4, the biased
// variance) and RMSNorm (Zhang & Sennrich 2019, arXiv 1910.07467, eq. 4) are
//
//	LayerNorm  y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias
//	RMSNorm    y = x / sqrt(mean(x^2) + eps) * gain + bias
//
// The mean is subtracted before squares are summed, so a mean far larger than the
// deviation costs no precision. Statistics are summed in float64.
type Norm[T Float] struct {
	// Addend, where not nil, is added to Backward's dx; dx may be Addend itself. A
	// residual stream's gradient arrives at its norm's input by two ways: this sums them
	// while the row is in cache.
	Addend []T

	forward  normForward[T]
	backward normBackward[T]
	path     path
}

// Forward computes y [rows, width] from x [rows, width], gain [groups, width] and bias of
// the same shape; a nil bias is zero. It saves mean [rows] and rstd [rows], 1/sqrt(var + eps), for
// Backward. RMSNorm does not use mean, which may be nil then. y may be x.
func (k *Norm[T]) Forward(p *Pool, y, x, gain, bias, mean, rstd []T, d NormParams) {
	k.forward = normForward[T]{y: y, x: x, gain: gain[:d.groups()*d.Width], bias: bias, mean: mean, rstd: rstd, d: d, path: pathOf[T](k.path)}
	p.Do(d.Rows/d.groups(), &k.forward)
}

// Backward computes the gradients of Forward's x, gain and bias from dy, that of y:
//
//	n = (x - mean) * rstd,  h = dy * gain
//	dx = (h - mean(h) - n * mean(h * n)) * rstd     (RMSNorm: without mean(h))
//	dgain = sum over rows of dy * n,  dbias = sum over rows of dy
//
// Each of dx, dgain and dbias may be nil: not wanted. accumulate says that dgain and
// dbias are added to what the slices hold; dx is always overwritten. dx may be dy or x.
func (k *Norm[T]) Backward(p *Pool, dx, dgain, dbias, dy, x, gain, mean, rstd []T, accumulate bool, d NormParams) {
	t := &k.backward
	t.dx, t.dy, t.x, t.gain, t.mean, t.rstd, t.d = dx, dy, x, gain[:d.groups()*d.Width], mean, rstd, d
	t.addend = k.Addend
	t.wantGain, t.wantBias = dgain != nil, dbias != nil
	t.path = pathOf[T](k.path)
	t.workers = growKept(t.workers, p.Threads())
	t.dgain = growKept(t.dgain, p.Threads())
	t.dbias = growKept(t.dbias, p.Threads())
	p.Do(d.Rows/d.groups(), t)
	if t.wantGain {
		storeTotal(dgain[:len(t.gain)], t.dgain, accumulate)
	}
	if t.wantBias {
		storeTotal(dbias[:len(t.gain)], t.dbias, accumulate)
	}
}

type normForward[T Float] struct {
	y, x, gain, bias, mean, rstd []T
	d                            NormParams
	path                         path
}

// Part normalises the rows of the items [lo, hi), a row of each group an item.
func (t *normForward[T]) Part(_, lo, hi int) {
	width, groups := t.d.Width, t.d.groups()
	for i := lo * groups; i < hi*groups; i++ {
		x, y, gain := rowOf(t.x, i, width), rowOf(t.y, i, width), rowOf(t.gain, i%groups, width)
		s := rowStatistics(t.path, x, t.d.RMS, t.d.Eps)
		s.save(t.mean, t.rstd, i)
		if t.bias == nil {
			s.scale(t.path, y, x, gain)
		} else {
			s.scaleShift(t.path, y, x, gain, rowOf(t.bias, i%groups, width))
		}
	}
}

type normBackward[T Float] struct {
	dx, dy, x, gain, mean, rstd []T
	addend                      []T
	wantGain, wantBias          bool
	d                           NormParams
	path                        path
	workers                     [][]T           // one normalised row a worker
	dgain, dbias                []blockedSum[T] // one a worker
}

func (t *normBackward[T]) Part(worker, lo, hi int) {
	width, groups := t.d.Width, t.d.groups()
	n := grow(t.workers[worker], width)
	t.workers[worker] = n
	dgain, dbias := &t.dgain[worker], &t.dbias[worker]
	dgain.reset(t.path, len(t.gain))
	dbias.reset(t.path, len(t.gain))
	for item := lo; item < hi; item++ {
		for group := range groups {
			t.row(item*groups+group, group, n, dgain.block, dbias.block)
		}
		if t.wantGain {
			dgain.added()
		}
		if t.wantBias {
			dbias.added()
		}
	}
}

// row does row i, whose gain is that of group; n is scratch memory for the normalised row.
func (t *normBackward[T]) row(i, group int, n, dgain, dbias []T) {
	width := t.d.Width
	x, dy, gain := rowOf(t.x, i, width), rowOf(t.dy, i, width), rowOf(t.gain, group, width)
	s := savedStatistics(t.path, x, t.mean, t.rstd, i, t.d.RMS)
	s.normalize(t.path, n, x)
	if !t.wantGain {
		dgain = nil
	}
	sumH, sumHN := gradientSumsGain(t.path, rowOf(dgain, group, width), dy, gain, n)
	if t.wantBias {
		addTo(t.path, rowOf(dbias, group, width), dy)
	}
	if t.dx != nil {
		normGradient(t.path, rowOf(t.dx, i, width), rowOf(t.addend, i, width), dy, gain, n, sumH, sumHN, s.rstd, t.d.RMS)
	}
}

// rowOf is row i of a matrix, nil of none.
func rowOf[T Float](x []T, i, width int) []T {
	if x == nil {
		return nil
	}
	return x[i*width : (i+1)*width]
}

// statistics are those of one row. The mean is mean + rest: in float32 the mean alone
// is off by up to half a unit in its last place, which is not small beside the
// deviation when the mean is large.
type statistics[T Float] struct{ mean, rest, rstd T }

// rowStatistics computes the statistics of a row in two passes.
func rowStatistics[T Float](p path, x []T, rms bool, eps float64) statistics[T] {
	var s statistics[T]
	if !rms {
		mean := rowMean(p, x)
		s.mean = T(mean)
		s.rest = T(mean - float64(s.mean))
	}
	variance := squaresAbout(p, x, s.mean, s.rest) / float64(len(x))
	s.rstd = T(1 / math.Sqrt(variance+eps))
	return s
}

// savedStatistics reads back the statistics of row i, x, and finds the rest of the mean
// again unless the mean is less than the deviation: then its rounding is no larger than
// that of the normalised elements.
func savedStatistics[T Float](p path, x, mean, rstd []T, i int, rms bool) statistics[T] {
	s := statistics[T]{rstd: rstd[i]}
	if !rms {
		s.mean = mean[i]
		if s.mean*s.rstd < -1 || s.mean*s.rstd > 1 {
			s.rest = T(rowMean(p, x) - float64(s.mean))
		}
	}
	return s
}

// save writes the statistics to element i of mean, which may be nil, and rstd.
func (s statistics[T]) save(mean, rstd []T, i int) {
	rstd[i] = s.rstd
	if mean != nil {
		mean[i] = s.mean
	}
}

// normalize computes y = (x - mean) * rstd.
func (s statistics[T]) normalize(p path, y, x []T) {
	if p > portable {
		fastNormalize(p, single(y), single(x), float32(s.mean), float32(s.rest), float32(s.rstd))
		return
	}
	y = y[:len(x)]
	for j, v := range x {
		y[j] = (v - s.mean - s.rest) * s.rstd
	}
}

// normalizeScale computes y = (x - mean) * rstd and z = y * gain.
func (s statistics[T]) normalizeScale(p path, y, z, x, gain []T) {
	if p > portable {
		fastNormalizeScale(p, single(y), single(z), single(x), single(gain), float32(s.mean), float32(s.rest), float32(s.rstd))
		return
	}
	y, z, gain = y[:len(x)], z[:len(x)], gain[:len(x)]
	for j, v := range x {
		y[j] = (v - s.mean - s.rest) * s.rstd
		z[j] = y[j] * gain[j]
	}
}

// scale computes y = (x - mean) * rstd * gain.
func (s statistics[T]) scale(p path, y, x, gain []T) {
	if p > portable {
		fastNormScale(p, single(y), single(x), single(gain), float32(s.mean), float32(s.rest), float32(s.rstd))
		return
	}
	y, gain = y[:len(x)], gain[:len(x)]
	for j, v := range x {
		y[j] = (v - s.mean - s.rest) * s.rstd * gain[j]
	}
}

// scaleShift computes y = (x - mean) * rstd * gain + bias.
func (s statistics[T]) scaleShift(p path, y, x, gain, bias []T) {
	if p > portable {
		fastNormScaleShift(p, single(y), single(x), single(gain), single(bias), float32(s.mean), float32(s.rest), float32(s.rstd))
		return
	}
	y, gain, bias = y[:len(x)], gain[:len(x)], bias[:len(x)]
	for j, v := range x {
		y[j] = (v-s.mean-s.rest)*s.rstd*gain[j] + bias[j]
	}
}

// normGradient computes dx = (h - mean(h) - n * mean(h * n)) * rstd with h = dy * gain,
// n being the normalised row, from the sums of h and of h * n; and adds the addend, unless
// that is nil. dx may be dy or the addend.
func normGradient[T Float](p path, dx, addend, dy, gain, n []T, sumH, sumHN float64, rstd T, rms bool) {
	meanHN := T(sumHN / float64(len(n)))
	var meanH T
	if !rms {
		meanH = T(sumH / float64(len(n)))
	}
	dx, dy, gain = dx[:len(n)], dy[:len(n)], gain[:len(n)]
	switch {
	case p > portable && addend == nil:
		fastNormGradient(p, single(dx), single(dy), single(gain), single(n), float32(meanH), float32(meanHN), float32(rstd))
	case p > portable:
		fastNormGradientAdd(p, single(dx), single(dy), single(gain), single(n), single(addend), float32(meanH), float32(meanHN), float32(rstd))
	case addend == nil:
		for j, v := range n {
			dx[j] = (dy[j]*gain[j] - meanH - v*meanHN) * rstd
		}
	default:
		addend = addend[:len(n)]
		for j, v := range n {
			dx[j] = addend[j] + (dy[j]*gain[j]-meanH-v*meanHN)*rstd
		}
	}
}

// addProducts computes out += a * b, element by element.
func addProducts[T Float](p path, out, a, b []T) {
	if p > portable {
		fastAddProducts(p, single(out), single(a), single(b))
		return
	}
	a, b = a[:len(out)], b[:len(out)]
	for j, v := range a {
		out[j] += v * b[j]
	}
}

// The reductions below keep four sums, so that an addition need not wait for the last.

// sumBlock is the number of elements that the fast sums add in float32 lanes before they
// go on in float64: 64 terms a lane.
const sumBlock = 4096

// rowMean returns the mean of x. What is summed are distances from an element: a mean
// far larger than the deviation costs no digits.
func rowMean[T Float](p path, x []T) float64 {
	if len(x) == 0 {
		return 0
	}
	return float64(x[0]) + sumAbout(p, x, x[0])/float64(len(x))
}

// sumAbout returns the sum of x - shift.
func sumAbout[T Float](p path, x []T, shift T) float64 {
	if p > portable {
		total := 0.0
		for ; len(x) > sumBlock; x = x[sumBlock:] {
			total += fastSum(p, single(x[:sumBlock]), float32(shift))
		}
		return total + fastSum(p, single(x), float32(shift))
	}
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		s0 += float64(x[0] - shift)
		s1 += float64(x[1] - shift)
		s2 += float64(x[2] - shift)
		s3 += float64(x[3] - shift)
	}
	for _, v := range x {
		s0 += float64(v - shift)
	}
	return s0 + s1 + (s2 + s3)
}

// squaresAbout returns the sum of (x - mean - rest)^2.
func squaresAbout[T Float](p path, x []T, mean, rest T) float64 {
	if p > portable {
		total := 0.0
		for ; len(x) > sumBlock; x = x[sumBlock:] {
			total += fastSquares(p, single(x[:sumBlock]), float32(mean), float32(rest))
		}
		return total + fastSquares(p, single(x), float32(mean), float32(rest))
	}
	var s0, s1 float64
	for ; len(x) >= 2; x = x[2:] {
		v0, v1 := float64(x[0]-mean-rest), float64(x[1]-mean-rest)
		s0 += v0 * v0
		s1 += v1 * v1
	}
	for _, v := range x {
		s0 += float64(v-mean-rest) * float64(v-mean-rest)
	}
	return s0 + s1
}

// gradientSums returns the sums of h and of h * n, h = dy * gain.
func gradientSums[T Float](p path, dy, gain, n []T) (sumH, sumHN float64) {
	if p > portable {
		return fastGradientSums(p, single(n), single(dy), single(gain))
	}
	var h0, h1, n0, n1 float64
	for len(n) >= 2 && len(dy) >= 2 && len(gain) >= 2 {
		a, b := float64(dy[0]*gain[0]), float64(dy[1]*gain[1])
		h0 += a
		h1 += b
		n0 += a * float64(n[0])
		n1 += b * float64(n[1])
		dy, gain, n = dy[2:], gain[2:], n[2:]
	}
	if len(n) > 0 {
		a := float64(dy[0] * gain[0])
		h0 += a
		n0 += a * float64(n[0])
	}
	return h0 + h1, n0 + n1
}

// gradientSumsGain is gradientSums that also computes dgain += dy * n, unless dgain is nil.
func gradientSumsGain[T Float](p path, dgain, dy, gain, n []T) (sumH, sumHN float64) {
	if dgain == nil {
		return gradientSums(p, dy, gain, n)
	}
	if p > portable {
		return fastGradientSumsGain(p, single(dgain), single(n), single(dy), single(gain))
	}
	addProducts(p, dgain, dy, n)
	return gradientSums(p, dy, gain, n)
}
