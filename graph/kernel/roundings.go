package kernel

// Roundings converts between float32 and bfloat16, in parallel.
type Roundings struct{ task roundingsTask }

// Round computes dst[i] = toBFloat16(src[i]).
func (k *Roundings) Round(p *Pool, dst []BFloat16, src []float32) {
	k.task = roundingsTask{half: dst, wide: src, round: true}
	p.Do(len(src), &k.task)
}

// Widen computes dst[i] = src[i].Float32().
func (k *Roundings) Widen(p *Pool, dst []float32, src []BFloat16) {
	k.task = roundingsTask{half: src, wide: dst}
	p.Do(len(src), &k.task)
}

// RoundInPlace rounds each element to the nearest bfloat16, kept as a float32.
func (k *Roundings) RoundInPlace(p *Pool, x []float32) {
	k.task = roundingsTask{wide: x, round: true}
	p.Do(len(x), &k.task)
}

type roundingsTask struct {
	half  []BFloat16 // nil: wide is rounded in place
	wide  []float32
	round bool
}

func (t *roundingsTask) Part(_, lo, hi int) {
	switch {
	case t.half == nil:
		roundInPlace(t.wide[lo:hi])
	case t.round:
		RoundBFloat16(t.half[lo:hi], t.wide[lo:hi])
	default:
		widenBFloat16(machinePath, t.wide[lo:hi], t.half[lo:hi])
	}
}

// roundInPlace rounds each element to the nearest bfloat16.
func roundInPlace(x []float32) {
	for i, v := range x {
		x[i] = toBFloat16(v).Float32()
	}
}
