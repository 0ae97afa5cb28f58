package kernel

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// MuonMatrix is a weight matrix with its gradient and momentum, each Rows x Columns at the same
// indices of its slice: row i begins at i*Stride.
type MuonMatrix[T Float] struct {
	Weight, Gradient, Momentum []T
	Rows, Columns, Stride      int
	Rate                       float64 // the step size, for an update with singular values of about 1
	Decay                      float64 // the fraction of the weight that the step subtracts
}

// MuonParams are the settings of one Muon step on several matrices.
type MuonParams struct {
	Factor    float64 // the schedule's factor of the rate and the decay
	Momentum  float64 // decay of the momentum, in [0, 1)
	GradScale float64 // factor of the gradient: clipping, accumulation
}

// Muon updates weight matrices by their orthogonalised momentum (Jordan 2024, "Muon: An
// optimizer for hidden layers in neural networks"):
//
//	s = GradScale * g
//	m = Momentum m + (1-Momentum) s
//	d = Momentum m + (1-Momentum) s                     Nesterov
//	X = NewtonSchulz(d / (|d| + 1e-7))                   |d| the Frobenius norm
//	w = w - Factor * (Rate * X + Decay * w)
//
// One worker computes the whole update of a matrix, so that the number of threads changes no bit.
type Muon[T Float] struct {
	BFloat16 bool // the iteration's float32 products read bfloat16 if both sides are at least bfloat16Side

	workers  []muonWorker[T]
	matrices []MuonMatrix[T]
	d        MuonParams
	next     atomic.Int64 // next matrix to begin
	path     path
}

// bfloat16Side is the smallest side of a matrix for which bfloat16 saves time.
const bfloat16Side = 64

// muonEps is added to the norm.
const muonEps = 1e-7

// Run takes one step on each matrix. Workers take them in order, so put the largest first. Each
// worker keeps memory for two copies of the largest matrix and four squares of its smaller side,
// and half as much again for bfloat16.
func (k *Muon[T]) Run(p *Pool, matrices []MuonMatrix[T], d MuonParams) {
	if len(k.workers) < p.Threads() {
		k.workers = make([]muonWorker[T], p.Threads())
	}
	k.matrices, k.d = matrices, d
	k.next.Store(0)
	p.Do(p.Threads(), k)
	k.matrices = nil
}

// Part updates matrices until all have been begun.
func (k *Muon[T]) Part(worker, lo, hi int) {
	if lo == hi {
		return
	}
	for {
		i := int(k.next.Add(1)) - 1
		if i >= len(k.matrices) {
			return
		}
		w := &k.workers[worker]
		m := &k.matrices[i]
		w.halves = k.BFloat16 && unsafe.Sizeof(T(0)) == 4 && min(m.Rows, m.Columns) >= bfloat16Side
		w.schulz.gemm.path, w.half.path = k.path, k.path
		w.update(m, &k.d, pathOf[T](k.path))
	}
}

// muonWorker is the scratch memory of one worker.
type muonWorker[T Float] struct {
	schulz orthogonaliser[T]
	half   bfloat16Orthogonaliser
	halves bool // half is in use
}

// prepare makes room for a matrix.
func (w *muonWorker[T]) prepare(rows, columns int) []T {
	if w.halves {
		return floatsOf[T](w.half.prepare(rows, columns))
	}
	return w.schulz.prepare(rows, columns)
}

// orthogonalise runs the iteration on the prepared matrix.
func (w *muonWorker[T]) orthogonalise() []T {
	if w.halves {
		return floatsOf[T](w.half.run())
	}
	return w.schulz.run()
}

// floatsOf returns the slice itself, for a T that is float32.
func floatsOf[T Float](x []float32) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func (w *muonWorker[T]) update(m *MuonMatrix[T], d *MuonParams, path path) {
	x := w.prepare(m.Rows, m.Columns)
	fresh := T(1 - d.Momentum)
	scale := fresh * T(d.GradScale)
	for i := range m.Rows {
		row := x[i*m.Columns : (i+1)*m.Columns]
		g, momentum := m.Gradient[i*m.Stride:][:len(row)], m.Momentum[i*m.Stride:][:len(row)]
		addTwoMultiples(path, momentum, g, momentum, scale, -fresh)
		copy(row, momentum)
		addTwoMultiples(path, row, g, momentum, scale, -fresh)
	}
	if d.Factor == 0 {
		return // the first step of a warmup only updates the momentum
	}
	norm := math.Sqrt(dotProduct(path, x, x))
	scaleTo(path, x, x, T(1/(norm+muonEps)))
	x = w.orthogonalise()
	rate, decay := T(d.Factor*m.Rate), T(d.Factor*m.Decay)
	for i := range m.Rows {
		row := x[i*m.Columns : (i+1)*m.Columns]
		weight := m.Weight[i*m.Stride:][:len(row)]
		addTwoMultiples(path, weight, row, weight, -rate, -decay)
	}
}
