package kernel

// TanhGatesParams are the sizes of a TanhGates.
type TanhGatesParams struct {
	Tokens int
	N      int     // residual streams
	K      int     // coefficients of a stream
	Pair   bool    // scale has 2 entries, one for all columns but the last and one for the last; otherwise N*K
	Tau    float64 // factor of z
}

// size returns the number of coefficients of a token.
func (d TanhGatesParams) size() int { return d.N * d.K }

// scaleOf returns the number of scale's entry for coefficient e of a token.
func (d TanhGatesParams) scaleOf(e int) int {
	switch {
	case !d.Pair:
		return e
	case e%d.K == d.K-1:
		return 1
	}
	return 0
}

// TanhGates computes the input-dependent mixing coefficients of hyper-connections (Zhu et
// al. 2024, arXiv 2409.19606, eq. 10 to 13) and of virtual width networks, element by
// element for every token:
//
//	c = static + scale * tanh(tau z)
//
// z and c [tokens, N, K], static [N, K], scale [N, K] or a pair. static and scale are repeated for
// several tokens, so that one pass covers all of these.
type TanhGates[T Float] struct {
	tiles    tanhTiles[T]
	forward  tanhForward[T]
	backward tanhBackward[T]
	path     path
}

// tanhTile is roughly the number of elements of a pass.
const tanhTile = 1024

// tanhTiles holds static and scale, repeated for several tokens.
type tanhTiles[T Float] struct {
	tokens        int
	static, scale []T // [tokens, N, K]
}

func (t *tanhTiles[T]) repeat(static, scale []T, d TanhGatesParams) {
	size := d.size()
	t.tokens = max(1, tanhTile/size)
	t.static, t.scale = grow(t.static, t.tokens*size), grow(t.scale, t.tokens*size)
	for e := range t.scale {
		if static != nil {
			t.static[e] = static[e%size]
		}
		t.scale[e] = scale[d.scaleOf(e%size)]
	}
}

// Forward computes c.
func (k *TanhGates[T]) Forward(p *Pool, c, z, static, scale []T, d TanhGatesParams) {
	k.tiles.repeat(static, scale, d)
	k.forward = tanhForward[T]{c: c, z: z, tiles: &k.tiles, d: d, path: pathOf[T](k.path)}
	p.Do(d.Tokens, &k.forward)
}

// Backward computes from dc, the gradient of c,
//
//	dz = dc * scale * tau tanh'(tau z),  dstatic = sum over tokens of dc,
//	dscale = sum over tokens, and coefficients that share an entry, of dc * tanh(tau z)
//
// Each of dstatic and dscale may be nil if it is not wanted. accumulateStatic (accumulateScale)
// adds dstatic (dscale) to what the slice holds. dz may be dc.
func (k *TanhGates[T]) Backward(p *Pool, dz, dstatic, dscale, dc, z, scale []T, accumulateStatic, accumulateScale bool, d TanhGatesParams) {
	k.tiles.repeat(nil, scale, d)
	t := &k.backward
	t.dz, t.dc, t.z, t.tiles, t.d, t.path = dz, dc, z, &k.tiles, d, pathOf[T](k.path)
	t.static.set(p, t.path, len(t.tiles.scale))
	t.scale.set(p, t.path, len(t.tiles.scale))
	t.tokens = pieces{d.Tokens, t.tiles.tokens * max(1, tanhPieceTokens/t.tiles.tokens)}
	p.Do(t.tokens.number(), t)
	if dstatic != nil {
		t.collect(dstatic, t.static.total(p), accumulateStatic, func(e int) int { return e })
	}
	if dscale != nil {
		t.collect(dscale, t.scale.total(p), accumulateScale, d.scaleOf)
	}
}

type tanhForward[T Float] struct {
	c, z  []T
	tiles *tanhTiles[T]
	d     TanhGatesParams
	path  path
}

func (t *tanhForward[T]) Part(_, lo, hi int) {
	size := t.d.size()
	for ; lo < hi; lo += t.tiles.tokens {
		end := min(lo+t.tiles.tokens, hi)
		n := (end - lo) * size
		tanhGates(t.path, t.c[lo*size:end*size], t.z[lo*size:end*size], t.tiles.scale[:n], t.tiles.static[:n], t.d.Tau)
	}
}

type tanhBackward[T Float] struct {
	dz, dc, z     []T
	tiles         *tanhTiles[T]
	d             TanhGatesParams
	path          path
	tokens        pieces
	static, scale treeSums[T] // with the size of the tile
	sums          []float64
}

// tanhPieceTokens is roughly the number of tokens of a piece, which consists of several tiles.
const tanhPieceTokens = 128

// Part computes the pieces [lo, hi).
func (t *tanhBackward[T]) Part(worker, lo, hi int) {
	static, scale := t.static.begin(worker), t.scale.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) {
		for ; first < end; first += t.tiles.tokens {
			t.tile(static.block, scale.block, first, min(first+t.tiles.tokens, end))
		}
	}, static, scale)
}

// tile computes the tokens [lo, hi), and adds their terms to static and scale.
func (t *tanhBackward[T]) tile(static, scale []T, lo, hi int) {
	size := t.d.size()
	n := (hi - lo) * size
	dc := t.dc[lo*size : hi*size]
	addTo(t.path, static[:n], dc)
	tanhGatesGradient(t.path, t.dz[lo*size:hi*size], scale[:n], dc, t.z[lo*size:hi*size], t.tiles.scale[:n], t.d.Tau)
}

// collect sums over the tokens of a tile; coefficient e of a token is added to entry(e) of out.
func (t *tanhBackward[T]) collect(out []T, tile []float64, accumulate bool, entry func(e int) int) {
	t.sums = grow(t.sums, len(out))
	clear(t.sums)
	for e, v := range tile {
		t.sums[entry(e%t.d.size())] += v
	}
	storeTotal(out, t.sums, accumulate)
}
