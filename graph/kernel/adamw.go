package kernel

import "math"

// AdamWParams are the settings of one AdamW step on one parameter.
type AdamWParams struct {
	LR           float64 // the step size
	Beta1, Beta2 float64 // decay of the two moments, in [0, 1)
	Eps          float64 // added to the square root of the second moment
	// Decay is the fraction of the weight that the step subtracts. It is not multiplied by LR here:
	// pass LR * decay for the usual coupled form, decay for the independent one.
	Decay     float64
	Step      int     // 1 for the first step; smaller numbers count as 1
	GradScale float64 // factor of the gradient: clipping, accumulation
}

// AdamW updates parameters (Loshchilov & Hutter 2019, arXiv 1711.05101, algorithm 2): Add names
// them, and Run updates all of them together, so that small ones do not make workers wait.
type AdamW[T Float] struct {
	tasks sequence[adamWTask[T]]
	path  path
}

// Add adds a parameter w, its gradient g and its moments m and v, all of the same length, to those
// of the next Run, which takes one step in one pass over them; m and v start at zero:
//
//	s = GradScale * g
//	m = Beta1 m + (1-Beta1) s
//	v = Beta2 v + (1-Beta2) s^2
//	w = w - LR * (m/(1-Beta1^Step)) / (sqrt(v/(1-Beta2^Step)) + Eps) - Decay * w
//
// The moments are computed as m + (1-Beta1) (s - m), and v in the same way. Rounding a Beta close
// to 1 to float32 would change 1-Beta noticeably, which would bias the moments; rounding 1-Beta
// does not. g is not changed.
func (k *AdamW[T]) Add(w, g, m, v []T, d AdamWParams) {
	step := float64(max(1, d.Step))
	*k.tasks.add(len(w)) = adamWTask[T]{
		w: w, g: g[:len(w)], m: m[:len(w)], v: v[:len(w)], d: d,
		rate:    d.LR / (1 - math.Pow(d.Beta1, step)),
		correct: 1 / (1 - math.Pow(d.Beta2, step)),
		path:    pathOf[T](k.path),
	}
}

// Run updates the parameters.
func (k *AdamW[T]) Run(p *Pool) { k.tasks.run(p) }

type adamWTask[T Float] struct {
	w, g, m, v    []T
	d             AdamWParams
	rate, correct float64 // LR / (1 - Beta1^Step), 1 / (1 - Beta2^Step)
	path          path
}

func (t adamWTask[T]) Part(_, lo, hi int) {
	w := t.w[lo:hi]
	g, m, v := t.g[lo:hi][:len(w)], t.m[lo:hi][:len(w)], t.v[lo:hi][:len(w)]
	new1, new2 := T(1-t.d.Beta1), T(1-t.d.Beta2)
	rate, correct := T(t.rate), T(t.correct)
	eps, decay, scale := T(t.d.Eps), T(t.d.Decay), T(t.d.GradScale)
	if t.path > portable {
		fastAdamW(t.path, w, g, m, v, new1, new2, rate, correct, eps, decay, scale)
		return
	}
	for i, gradient := range g {
		s := scale * gradient
		first := m[i] + new1*(s-m[i])
		second := v[i] + new2*(s*s-v[i])
		m[i], v[i] = first, second
		root := T(math.Sqrt(float64(second * correct)))
		w[i] -= rate*first/(root+eps) + decay*w[i]
	}
}
