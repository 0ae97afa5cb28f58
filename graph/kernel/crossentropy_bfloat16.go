package kernel

import (
	"cmp"
	"math"
	"slices"
)

const (
	lossSlice = 512           // columns whose exponentials are relative to their own largest logit
	lossPiece = 8 * lossSlice // columns whose gradients are in memory as bfloat16 at a time
	lossTile  = 14            // rows of a tile by other instructions than AMX
	lossRows  = 112           // tokens of a block of logits, which stays in the second-level cache
)

// CrossEntropyBFloat16 computes what CrossEntropy does, with products of bfloat16 and with sums and
// softmax in float32. For a block of tokens and a slice of the vocabulary, one product computes the
// logits, which are turned into exponentials relative to their row's largest logit in the slice
// while they are in cache. When the sums of all slices of a row are known, the exponentials are
// read once more, a piece at a time, and scaled and rounded to bfloat16. These dlogits are what
// both products of gradients read. Slices and sums do not depend on the number of threads, so
// neither do the bits.
type CrossEntropyBFloat16 struct {
	args      CrossEntropyArgs[float32]
	operands  CrossEntropyOperands
	first     int     // first token of the chunk
	inverse   float64 // 1 / number of counted tokens
	bytes     int     // bound on the logits in memory; 0 means crossEntropyBytes
	stride    int     // distance between rows of logits
	from, end int     // first column of the piece, and the column after its last
	logits    []float32
	dlogits   []BFloat16  // [chunk, lossPiece]
	parts     []lossPart  // [chunk, slices]
	tokens    []lossToken // [chunk]
	space     [][]float32 // two slices for each worker, for capped logits and for dlogits
	gemm      GemmBFloat16[float32]
	pool      *Pool
	own       arena // for calls without a Pool
	path      path
	rows      path // settled by pathOf
}

// CrossEntropyOperands holds copies in bfloat16 of the Features and the Weight of a
// CrossEntropyArgs. The matrix products read these copies.
type CrossEntropyOperands struct {
	Features []BFloat16     // [tokens, f]
	Logits   PackedBFloat16 // the unembedding as [f, vocab]
	Gradient PackedBFloat16 // the unembedding as [vocab, f]; only read if DFeatures is wanted
}

// lossPart sums up the logits of a token in a slice.
type lossPart struct {
	largest float32
	factor  float32 // factor that turns the exponentials into dlogits
	sum     float64 // sum of the exponentials relative to the largest
}

// lossToken is the state of a token of the chunk.
type lossToken struct {
	crossEntropyToken
	logit float32 // the target's logit
	leads bool    // in its slice, the target has the largest logit (of several, the first)
}

// Run does what CrossEntropy.Run does.
func (k *CrossEntropyBFloat16) Run(p *Pool, a CrossEntropyArgs[float32], from CrossEntropyOperands) (crossEntropy, zLoss float64, err error) {
	if err := a.check(); err != nil {
		return 0, 0, err
	}
	counted := a.counted()
	if counted == 0 {
		a.clear()
		return 0, 0, nil
	}
	k.args, k.operands, k.inverse, k.pool = a, from, 1/a.divisor(counted), p
	defer func() { k.pool = nil }()
	k.rows, k.gemm.path = pathOf[float32](k.path), k.path
	k.stride = (a.Vocab + 15) / 16 * 16
	chunk := k.chunk()
	k.prepare(p, chunk)
	var losses, squares float64
	for k.first = 0; k.first < a.Tokens; k.first += chunk {
		n := min(chunk, a.Tokens-k.first)
		k.tokens, k.parts = k.tokens[:n], k.parts[:n*k.slices()]
		p.Do(k.slices()*k.tiles(), (*lossSlices)(k))
		p.Do(n, (*lossTokens)(k))
		for _, t := range k.tokens {
			losses += t.loss
			squares += t.logZ * t.logZ
		}
		k.gradients(p, n)
	}
	return losses * k.inverse, a.ZLoss * squares * k.inverse, nil
}

// prepare allocates memory for a chunk of tokens.
func (k *CrossEntropyBFloat16) prepare(p *Pool, chunk int) {
	k.logits = grow(k.logits, chunk*k.stride)
	k.parts = grow(k.parts, chunk*k.slices())
	k.tokens = grow(k.tokens, chunk)
	if k.differentiates() {
		k.dlogits = grow(k.dlogits, chunk*min(lossPiece, k.stride))
	}
	if k.args.SoftCap > 0 || k.differentiates() {
		k.space = growRows(k.space, p, 2*lossSlice)
	}
}

// slices returns the number of slices.
func (k *CrossEntropyBFloat16) slices() int { return (k.args.Vocab + lossSlice - 1) / lossSlice }

// differentiates tells whether a gradient is wanted.
func (k *CrossEntropyBFloat16) differentiates() bool {
	return k.args.DFeatures != nil || k.args.DWeight != nil
}

// tile returns the number of rows of a micro-kernel's tile; chunks are multiples of it.
func (k *CrossEntropyBFloat16) tile() int { return choose(k.tiled(), tileRows, lossTile) }

// tiled tells whether products are computed by AMX. These are so fast that the rest counts: then
// exponentials are computed in float32 instead of float64, to 1.1 units in the last place, and
// Scale is applied to logits and dlogits in cache instead of to the products.
func (k *CrossEntropyBFloat16) tiled() bool {
	kernels := k.operands.Logits.kernels
	return kernels != nil && kernels.tiles
}

// exp turns logits into exponentials relative to the largest, and returns their sum.
func (k *CrossEntropyBFloat16) exp(row []float32, largest float32) float64 {
	if k.tiled() {
		return attentionExp(k.rows, row, largest)
	}
	return softmaxExp(k.rows, row, largest)
}

// scales returns the factors of Scale: in products, and in what they read and write.
func (k *CrossEntropyBFloat16) scales() (product, rest float32) {
	if k.tiled() {
		return 1, float32(k.args.Scale)
	}
	return float32(k.args.Scale), 1
}

// chunk returns the number of tokens taken at a time: as many as the bound on logits allows,
// divided evenly and rounded up to whole tiles.
func (k *CrossEntropyBFloat16) chunk() int {
	most := max(1, cmp.Or(k.bytes, crossEntropyBytes)/(4*k.stride))
	return min(most, k.args.Tokens, evenly(k.args.Tokens, most, k.tile()))
}

// lossSlices computes the exponentials of slices of the vocabulary, whose tiles of tokens the
// workers share.
type lossSlices CrossEntropyBFloat16

// tiles returns the number of tiles of tokens in the chunk.
func (k *CrossEntropyBFloat16) tiles() int { return (len(k.tokens) + k.tile() - 1) / k.tile() }

func (s *lossSlices) Part(worker, lo, hi int) {
	k := (*CrossEntropyBFloat16)(s)
	height := k.tile()
	for lo < hi {
		slice, tile := lo/k.tiles(), lo%k.tiles()
		tiles := min(lossRows/height, hi-lo, k.tiles()-tile)
		k.block(slice, tile*height, min((tile+tiles)*height, len(k.tokens)), worker)
		lo += tiles
	}
}

// block computes the exponentials of the tokens [i0, i1) of the chunk in a slice.
func (k *CrossEntropyBFloat16) block(slice, i0, i1, worker int) {
	a := &k.args
	from, end := slice*lossSlice, min(a.Vocab, (slice+1)*lossSlice)
	alpha, rest := k.scales()
	q := pairProduct[float32]{
		m: i1 - i0, n: end - from, k: a.F, alpha: alpha,
		a: k.operands.Features[(k.first+i0)*a.F:], lda: a.F, c: k.logits[i0*k.stride+from:], ldc: k.stride,
	}
	q.run(k.operands.Logits.Part(0, a.F, from, end), k.pool.arena(worker, &k.own))
	for r := i0; r < i1; r++ {
		row := k.logits[r*k.stride+from:][:end-from]
		if rest != 1 {
			scaleRow(k.rows, row, rest)
		}
		k.slice(row, r, slice, worker)
	}
}

// slice turns the logits of token r of the chunk in a slice into exponentials. With capped logits
// and gradients wanted, it leaves the logits as they are; the exponentials are then computed again
// with the gradients.
func (k *CrossEntropyBFloat16) slice(row []float32, r, slice, worker int) {
	if c := k.args.SoftCap; c > 0 {
		capped := k.space[worker][:len(row)]
		softCap(k.rows, capped, row, c)
		row = capped
	}
	largest := softmaxMax(k.rows, row)
	if target := int(k.args.Targets[k.first+r]) - slice*lossSlice; 0 <= target && target < len(row) {
		t := &k.tokens[r]
		t.logit = row[target]
		t.leads = t.logit == largest && !slices.Contains(row[:target], largest)
	}
	k.parts[r*k.slices()+slice] = lossPart{largest: largest, sum: k.exp(row, largest)}
}

// lossTokens computes the losses of tokens, and the factors of their exponentials.
type lossTokens CrossEntropyBFloat16

func (s *lossTokens) Part(_, lo, hi int) {
	k := (*CrossEntropyBFloat16)(s)
	for r := lo; r < hi; r++ {
		k.token(r)
	}
}

// token combines the slices of token r of the chunk.
func (k *CrossEntropyBFloat16) token(r int) {
	a, t, parts := &k.args, &k.tokens[r], k.parts[r*k.slices():][:k.slices()]
	target := int(a.Targets[k.first+r])
	if target < 0 {
		t.crossEntropyToken = crossEntropyToken{}
		a.report(k.first+r, 0, false)
		return
	}
	largest := float32(math.Inf(-1))
	for i, part := range parts {
		largest = max(largest, part.largest)
		if part.largest >= t.logit && i < target/lossSlice || part.largest > t.logit {
			t.leads = false
		}
	}
	sum := 0.0
	for _, part := range parts {
		sum += part.sum * math.Exp(float64(part.largest)-float64(largest))
	}
	t.logZ = float64(largest) + math.Log(sum)
	t.loss = t.logZ - float64(t.logit)
	a.report(k.first+r, t.loss, t.leads && t.loss == t.loss)
	_, rest := k.scales()
	for i := range parts {
		parts[i].factor = rest * float32((1+2*a.ZLoss*t.logZ)*k.inverse*math.Exp(float64(parts[i].largest)-t.logZ))
	}
}

// gradients adds the parts of the chunk's n tokens to the gradients, piece by piece of the
// vocabulary.
func (k *CrossEntropyBFloat16) gradients(p *Pool, n int) {
	a := &k.args
	if !k.differentiates() {
		return
	}
	scale, _ := k.scales()
	features := k.operands.Features[k.first*a.F:]
	for k.from = 0; k.from < a.Vocab; k.from += lossPiece {
		k.end = min(a.Vocab, k.from+lossPiece)
		columns, ld := k.end-k.from, min(lossPiece, k.stride)
		p.Do(n, (*lossGradients)(k))
		if a.DFeatures != nil {
			// dfeatures [n, f] += Scale * dlogits [n, piece] weight^T [piece, f]
			k.gemm.RunPacked(p, false, n, scale, k.dlogits, ld, k.operands.Gradient.Part(k.from, k.end, 0, a.F), unless(k.from == 0), a.DFeatures[k.first*a.F:], a.F)
		}
		beta := unless(k.first == 0 && !a.Accumulate)
		switch {
		case a.DWeight == nil:
		case a.Transposed:
			// dweight [piece, f] += Scale * dlogits^T [piece, n] features [n, f]
			k.gemm.Run(p, true, false, columns, a.F, n, scale, k.dlogits, ld, features, a.F, beta, a.DWeight[k.from*a.F:], a.F)
		default:
			// dweight [f, piece] += Scale * features^T [f, n] dlogits [n, piece]
			k.gemm.Run(p, true, false, a.F, columns, n, scale, features, a.F, k.dlogits, ld, beta, a.DWeight[k.from:], a.Vocab)
		}
	}
}

// unless returns the factor of the old content of a sum: 0 for the first term, else 1.
func unless(first bool) float32 {
	if first {
		return 0
	}
	return 1
}

// lossGradients computes the dlogits of the piece, rounded to bfloat16.
type lossGradients CrossEntropyBFloat16

func (s *lossGradients) Part(worker, lo, hi int) {
	k := (*CrossEntropyBFloat16)(s)
	ld := min(lossPiece, k.stride)
	for r := lo; r < hi; r++ {
		out := k.dlogits[r*ld:][:k.end-k.from]
		if k.args.Targets[k.first+r] < 0 {
			clear(out)
			continue
		}
		for from := k.from; from < k.end; from += lossSlice {
			n := min(lossSlice, k.end-from)
			k.sliceGradient(out[from-k.from:][:n], k.logits[r*k.stride+from:][:n], r, from, worker)
		}
	}
}

// sliceGradient computes the dlogits of token r of the chunk in the slice that begins at column
// from.
func (k *CrossEntropyBFloat16) sliceGradient(out []BFloat16, row []float32, r, from, worker int) {
	part := k.parts[r*k.slices()+from/lossSlice]
	capped, slopes := k.space[worker][:len(row)], []float32(nil)
	if c := k.args.SoftCap; c > 0 {
		slopes = k.space[worker][lossSlice:][:len(row)]
		softCapSlope(k.rows, capped, slopes, row, c)
		k.exp(capped, part.largest)
		row = capped
	}
	scaleTo(k.rows, capped, row, part.factor) // not into the logits, which would return to memory
	if target := int(k.args.Targets[k.first+r]) - from; 0 <= target && target < len(row) {
		_, rest := k.scales()
		capped[target] -= rest * float32(k.inverse)
	}
	if slopes != nil {
		multiply(k.rows, capped, capped, slopes)
	}
	roundBFloat16(k.rows, out, capped)
}
