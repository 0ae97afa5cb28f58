package kernel

// DropoutKey identifies a mask: the same key gives the same mask, for any number of threads and in
// either element type, so that the backward pass need not store it.
type DropoutKey struct {
	Seed uint64 // seed of the run
	Site uint32 // place in the model
	Step uint64 // training step, counted so that no two micro-batches share one
}

// Dropout sets elements to zero at random (Srivastava et al. 2014, JMLR 15, section 4, in the form
// that scales during training).
type Dropout[T Float] struct{ task dropoutTask[T] }

// Run computes, element by element,
//
//	out[i] = x[i] / (1 - rate)   if the mask keeps i, which has probability 1 - rate
//	out[i] = 0                   otherwise
//
// It computes its own gradient, too: apply it with the same rate and key to the gradient of out. A
// rate of 0 or less copies x, one of 1 or more gives zeros. out may be x.
func (k *Dropout[T]) Run(p *Pool, out, x []T, rate float64, key DropoutKey) {
	stream, threshold := key.Mask(rate)
	k.task = dropoutTask[T]{out: out[:len(x)], x: x, stream: stream, threshold: threshold, factor: T(1 / (1 - max(0, rate)))}
	p.Do(len(x), &k.task)
}

type dropoutTask[T Float] struct {
	out, x    []T
	stream    uint64
	threshold uint64 // elements whose hash, in [0, 2^32), is below it are dropped
	factor    T
}

func (t *dropoutTask[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		if dropoutHash(t.stream, uint64(i)) < t.threshold {
			t.out[i] = 0
		} else {
			t.out[i] = t.x[i] * t.factor
		}
	}
}

// weyl is the odd number nearest to 2^64 divided by the golden ratio: the counter's step.
const weyl = 0x9e3779b97f4a7c15

// Mask returns the two numbers that define the mask on any device: element i is dropped if the
// upper half of element i of the SplitMix64 sequence that starts at stream is below threshold.
func (k DropoutKey) Mask(rate float64) (stream, threshold uint64) {
	return k.stream(), uint64(max(0, min(rate, 1)) * (1 << 32))
}

// stream hashes the key to the start of its sequence.
func (k DropoutKey) stream() uint64 {
	h := mix(k.Seed + weyl)
	h = mix(h + uint64(k.Site)*weyl)
	return mix(h + k.Step*weyl)
}

// dropoutHash returns the upper half of element i of the SplitMix64 sequence (Steele, Lea & Flood
// 2014, OOPSLA, figure 17) that starts at stream.
func dropoutHash(stream, i uint64) uint64 {
	return mix(stream+(i+1)*weyl) >> 32
}

// mix is the output function of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
