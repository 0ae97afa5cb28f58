package kernel

import (
	"cmp"
	"math"
	"slices"
	"unsafe"
)

// crossEntropyBytes bounds the logits that are in memory at a time. One token's logits are always
// allowed.
const crossEntropyBytes = 96 << 20

// CrossEntropyBytes returns about how many bytes of logits are in memory at a time, with logits of
// size bytes.
func CrossEntropyBytes(tokens, vocab, size int) int {
	return crossEntropyChunk(tokens, vocab, size, crossEntropyBytes) * vocab * size
}

// crossEntropyChunk returns the number of tokens taken at a time: as many as a bound on the bytes
// of logits allows, divided evenly.
func crossEntropyChunk(tokens, vocab, size, bytes int) int {
	most := max(1, bytes/(vocab*size))
	chunks := (tokens + most - 1) / most
	return (tokens + chunks - 1) / chunks
}

// CrossEntropyArgs holds what CrossEntropy.Run reads and writes.
type CrossEntropyArgs[T Float] struct {
	Features   []T      // [tokens, f]
	Weight     []T      // [f, vocab], or [vocab, f] if Transposed
	Weights    *Weights // if not nil, read instead of Weight; then there are no gradients
	Transposed bool     // the unembedding is a tied embedding table
	Targets    []int32  // [tokens]; a token with a negative target is ignored
	Tokens     int
	F          int // features of a token
	Vocab      int
	Scale      float64 // logits = Scale * features x weight; there is no default: 0 makes all logits 0
	SoftCap    float64 // c in logits = c tanh(Scale * features x weight / c); 0: not bounded (see SoftCap)
	ZLoss      float64 // coefficient of the mean of (log Z)^2
	Count      float64 // what the sums over tokens are divided by; 0: the number of tokens that are not ignored

	Losses     []T     // optional [tokens]: -log p(target) of each token, 0 for ignored ones
	Hits       []int32 // optional [tokens]: 1 if the target has the largest logit (of several, the first)
	DFeatures  []T     // optional [tokens, f]: gradient of the returned crossEntropy + zLoss
	DWeight    []T     // optional, the same for the weight, in its shape
	Accumulate bool    // DWeight += its gradient instead of =
}

// CrossEntropy computes the loss of a language model from the inputs of its unembedding, without
// ever holding all logits [tokens, vocab]:
//
//	logits_t = Scale * features_t Weight     log Z_t = log sum_v exp(logits_tv)
//	crossEntropy = mean_t (log Z_t - logits_t,target)     zLoss = ZLoss * mean_t (log Z_t)^2
//
// The z term is from PaLM (Chowdhery et al. 2022, section 5); Mak & Flanigan 2025 (RMT) train with
// it. Tokens are taken in chunks, and the gradients of a chunk, dlogits_tv = p_tv (1 + 2 ZLoss log
// Z_t) - [v = target] over the number of tokens, are computed while its logits are in memory: three
// matrix products in all. With a soft cap, the logits in these equations are the capped ones, and
// the gradients continue through the cap.
type CrossEntropy[T Float] struct {
	args    CrossEntropyArgs[T]
	first   int     // first token of the chunk
	inverse float64 // 1 / number of counted tokens
	bytes   int     // bound on the logits in memory; 0 means crossEntropyBytes
	gemm    Gemm[T]
	logits  []T                 // [chunk, vocab], later overwritten by dlogits
	slopes  [][]T               // [vocab] for each worker: derivatives of the cap
	sums    []crossEntropyToken // [chunk]
	path    path
	rows    path // settled by pathOf
}

// crossEntropyToken is the loss of one token of a chunk.
type crossEntropyToken struct {
	loss, logZ float64
}

// Run returns the mean cross-entropy in nats and the mean of ZLoss * (log Z)^2 over the tokens
// whose target is not negative, and writes the optional outputs. If there is no such token, losses
// and gradients are 0. It refuses targets beyond the vocabulary before writing anything. A NaN
// logit gives a NaN loss.
func (k *CrossEntropy[T]) Run(p *Pool, a CrossEntropyArgs[T]) (crossEntropy, zLoss float64, err error) {
	if err := a.check(); err != nil {
		return 0, 0, err
	}
	counted := a.counted()
	if counted == 0 {
		a.clear()
		return 0, 0, nil
	}
	k.args, k.inverse = a, 1/a.divisor(counted)
	k.rows, k.gemm.path = pathOf[T](k.path), k.path
	chunk := k.chunk()
	k.logits = grow(k.logits, chunk*a.Vocab)
	k.sums = grow(k.sums, chunk)
	if a.SoftCap > 0 {
		k.slopes = growKept(k.slopes, p.Threads())
	}
	var losses, squares float64
	for k.first = 0; k.first < a.Tokens; k.first += chunk {
		n := min(chunk, a.Tokens-k.first)
		k.chunkLogits(p, n)
		p.Do(n, (*crossEntropyRows[T])(k))
		k.chunkGradients(p, n)
		for _, t := range k.sums[:n] {
			losses += t.loss
			squares += t.logZ * t.logZ
		}
	}
	return losses * k.inverse, a.ZLoss * squares * k.inverse, nil
}

func (k *CrossEntropy[T]) chunk() int {
	return crossEntropyChunk(k.args.Tokens, k.args.Vocab, int(unsafe.Sizeof(T(0))), cmp.Or(k.bytes, crossEntropyBytes))
}

// chunkLogits computes logits [n, vocab] = Scale * features [n, f] weight [f, vocab].
func (k *CrossEntropy[T]) chunkLogits(p *Pool, n int) {
	a := &k.args
	ldw := a.Vocab
	if a.Transposed {
		ldw = a.F
	}
	k.gemm.Weights = a.Weights
	k.gemm.Run(p, false, a.Transposed, n, a.Vocab, a.F, T(a.Scale), a.Features[k.first*a.F:], a.F, a.Weight, ldw, 0, k.logits, a.Vocab)
}

// chunkGradients adds the chunk's part to the gradients; logits then holds dlogits.
func (k *CrossEntropy[T]) chunkGradients(p *Pool, n int) {
	a := &k.args
	if a.DFeatures != nil {
		ldw := a.Vocab
		if a.Transposed {
			ldw = a.F
		}
		// dfeatures [n, f] = Scale * dlogits [n, vocab] weight^T [vocab, f]
		k.gemm.Run(p, false, !a.Transposed, n, a.F, a.Vocab, T(a.Scale), k.logits, a.Vocab, a.Weight, ldw, 0, a.DFeatures[k.first*a.F:], a.F)
	}
	if a.DWeight == nil {
		return
	}
	var beta T
	if a.Accumulate || k.first > 0 {
		beta = 1
	}
	features := a.Features[k.first*a.F:]
	if a.Transposed {
		// dweight [vocab, f] += Scale * dlogits^T [vocab, n] features [n, f]
		k.gemm.Run(p, true, false, a.Vocab, a.F, n, T(a.Scale), k.logits, a.Vocab, features, a.F, beta, a.DWeight, a.F)
	} else {
		// dweight [f, vocab] += Scale * features^T [f, n] dlogits [n, vocab]
		k.gemm.Run(p, true, false, a.F, a.Vocab, n, T(a.Scale), features, a.F, k.logits, a.Vocab, beta, a.DWeight, a.Vocab)
	}
}

// crossEntropyRows computes the losses of a chunk's tokens and overwrites their logits with
// dlogits.
type crossEntropyRows[T Float] CrossEntropy[T]

func (r *crossEntropyRows[T]) Part(worker, lo, hi int) {
	k := (*CrossEntropy[T])(r)
	for i := lo; i < hi; i++ {
		row := k.logits[i*k.args.Vocab:][:k.args.Vocab]
		k.sums[i] = k.cappedToken(row, k.first+i, worker)
	}
}

// cappedToken caps the logits of token t in row [vocab], calls token, and multiplies the gradients
// by the derivatives of the cap.
func (k *CrossEntropy[T]) cappedToken(row []T, t, worker int) crossEntropyToken {
	c := k.args.SoftCap
	if c == 0 || k.args.Targets[t] < 0 {
		return k.token(row, t)
	}
	if k.args.DFeatures == nil && k.args.DWeight == nil {
		softCap(k.rows, row, row, c)
		return k.token(row, t)
	}
	k.slopes[worker] = grow(k.slopes[worker], len(row))
	slopes := k.slopes[worker]
	softCapSlope(k.rows, row, slopes, row, c)
	token := k.token(row, t)
	multiply(k.rows, row, row, slopes)
	return token
}

// token computes the loss of token t, whose logits are in row [vocab], and its dlogits.
func (k *CrossEntropy[T]) token(row []T, t int) crossEntropyToken {
	a := &k.args
	target := int(a.Targets[t])
	if target < 0 {
		clear(row)
		a.report(t, 0, false)
		return crossEntropyToken{}
	}
	logit, largest := row[target], softmaxMax(k.rows, row)
	leads := logit == largest && !slices.Contains(row[:target], largest)
	sum := softmaxExp(k.rows, row, largest)
	logZ := float64(largest) + math.Log(sum)
	loss := logZ - float64(logit)
	a.report(t, loss, leads && loss == loss)
	if a.DFeatures != nil || a.DWeight != nil {
		scaleRow(k.rows, row, T((1+2*a.ZLoss*logZ)*k.inverse/sum))
		row[target] -= T(k.inverse)
	}
	return crossEntropyToken{loss: loss, logZ: logZ}
}
