package kernel

// NormParams are the sizes and the kind of a normalisation.
type NormParams struct {
	Rows  int     // each is normalised separately
	Width int     // elements in a row
	RMS   bool    // RMSNorm instead of LayerNorm
	Eps   float64 // added to the variance, or to the mean square

	// Groups is the number of gains: row i has gain number i mod Groups. 0 means 1. Rows must be a
	// multiple of it.
	Groups int
}

// groups returns Groups with its default.
func (d *NormParams) groups() int { return max(1, d.Groups) }

// Norm normalises rows. LayerNorm (Ba et al. 2016, arXiv 1607.06450, eq. 4, the biased
// variance) and RMSNorm (Zhang & Sennrich 2019, arXiv 1910.07467, eq. 4) are
//
//	LayerNorm  y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias
//	RMSNorm    y = x / sqrt(mean(x^2) + eps) * gain + bias
//
// The mean is subtracted before squares are summed, so that a mean far larger than the deviation
// costs no precision. Statistics are summed in float64.
type Norm[T Float] struct {
	forward  normForward[T]
	backward normBackward[T]
	path     path
}

// Forward computes y [rows, width] from x [rows, width], gain [groups, width] and bias of the same
// shape; a nil bias means zero. It saves mean [rows] and rstd [rows], 1/sqrt(var + eps), for
// Backward. RMSNorm does not use mean, which may then be nil. y may be x.
func (k *Norm[T]) Forward(p *Pool, y, x Rows[T], gain, bias, mean, rstd []T, d NormParams) {
	t := &k.forward
	t.y, t.x, t.gain, t.bias, t.mean, t.rstd, t.d, t.path = y, x, gain[:d.groups()*d.Width], bias, mean, rstd, d, pathOf[T](k.path)
	t.rooms.ready(p, d.Width, y, x)
	p.Do(d.Rows/d.groups(), t)
}

// Backward computes the gradients of Forward's x, gain and bias from dy, the gradient of y:
//
//	n = (x - mean) * rstd,  h = dy * gain
//	dx = (h - mean(h) - n * mean(h * n)) * rstd     (RMSNorm: without mean(h))
//	dgain = sum over rows of dy * n,  dbias = sum over rows of dy
//
// Each of dx, dgain and dbias may be nil if it is not wanted. accumulate adds dgain and dbias to
// what the slices hold; dx is always overwritten. dx may be dy or x.
//
// addend, if not nil, is added to dx, which may be addend itself. The gradient of a residual stream
// reaches its norm's input in two ways: this sums them while the row is in cache.
func (k *Norm[T]) Backward(p *Pool, dx, addend Rows[T], dgain, dbias []T, dy, x Rows[T], gain, mean, rstd []T, accumulate bool, d NormParams) {
	t := &k.backward
	t.dx, t.addend, t.dy, t.x, t.gain, t.mean, t.rstd, t.d = dx, addend, dy, x, gain[:d.groups()*d.Width], mean, rstd, d
	t.path = pathOf[T](k.path)
	t.normed = growRows(t.normed, p, d.Width)
	t.rooms.ready(p, 2*d.Width, dx, addend, dy)
	t.dgain.want(p, t.path, dgain, accumulate)
	t.dbias.want(p, t.path, dbias, accumulate)
	t.items = pieces{d.Rows / d.groups(), pieceTokens}
	p.Do(t.items.number(), t)
	t.dgain.store(p)
	t.dbias.store(p)
}

type normForward[T Float] struct {
	y, x                   Rows[T]
	gain, bias, mean, rstd []T
	d                      NormParams
	path                   path
	rooms                  rooms[T]
}

// Part normalises the rows of the items [lo, hi); an item is one row of each group.
func (t *normForward[T]) Part(worker, lo, hi int) {
	width, groups := t.d.Width, t.d.groups()
	room := t.rooms.part(worker, 0, width)
	for i := lo * groups; i < hi*groups; i++ {
		x, y, gain := t.x.read(t.path, room, i*width, width), t.y.target(room, i*width, width), rowOf(t.gain, i%groups, width)
		s := rowStatistics(t.path, x, t.d.RMS, t.d.Eps)
		s.save(t.mean, t.rstd, i)
		if t.bias == nil {
			s.scale(t.path, y, x, gain)
		} else {
			s.scaleShift(t.path, y, x, gain, rowOf(t.bias, i%groups, width))
		}
		t.y.write(t.path, y, i*width)
	}
}

type normBackward[T Float] struct {
	dx, addend, dy, x Rows[T]
	gain, mean, rstd  []T
	d                 NormParams
	path              path
	normed            [][]T    // a normalised row for each worker
	rooms             rooms[T] // for a row of dy, and one of the addend and dx
	items             pieces   // an item is one row of each group
	dgain, dbias      treeSums[T]
}

// Part computes the pieces [lo, hi).
func (t *normBackward[T]) Part(worker, lo, hi int) {
	groups := t.d.groups()
	dgain, dbias := t.dgain.begin(worker), t.dbias.begin(worker)
	t.items.each(lo, hi, func(first, end int) {
		for i := first * groups; i < end*groups; i++ {
			t.row(worker, i, i%groups, dgain.block, dbias.block)
		}
	}, dgain, dbias)
}

// row computes the gradients of row i, whose gain has the number group.
func (t *normBackward[T]) row(worker, i, group int, dgain, dbias []T) {
	width, n := t.d.Width, t.normed[worker]
	at, room := i*width, t.rooms.part(worker, width, width)
	x, dy, gain := t.x.read(t.path, n, at, width), t.dy.read(t.path, t.rooms.part(worker, 0, width), at, width), rowOf(t.gain, group, width)
	s := savedStatistics(t.path, x, t.mean, t.rstd, i, t.d.RMS)
	s.normalize(t.path, n, x)
	sumH, sumHN := gradientSumsGain(t.path, rowOf(dgain, group, width), dy, gain, n)
	if dbias != nil {
		addTo(t.path, rowOf(dbias, group, width), dy)
	}
	if dx := t.dx.target(room, at, width); dx != nil {
		normGradient(t.path, dx, t.addend.read(t.path, room, at, width), dy, gain, n, sumH, sumHN, s.rstd, t.d.RMS)
		t.dx.write(t.path, dx, at)
	}
}

// rowOf returns row i of a matrix; nil if x is nil.
func rowOf[T Float](x []T, i, width int) []T {
	if x == nil {
		return nil
	}
	return x[i*width : (i+1)*width]
}
