package kernel

// LSTM computes one step of a long short-term memory cell (Hochreiter & Schmidhuber 1997; the
// forget gate: Gers et al. 2000), element by element, without tanh on the candidate g or the
// output:
//
//	c' = sigmoid(f) ⊙ c + sigmoid(i) ⊙ g
//	h' = sigmoid(o) ⊙ c'
//
// Both are sums of gated products, computed as in GLU. A block of the elements stays in the
// first-level cache from one product to the next.
type LSTM[T Float] struct {
	forward lstmForward[T]
	output  lstmOutputBackward[T]
	cell    lstmCellBackward[T]
	path    path
}

// LSTMGates holds the gates before their sigmoid, and the candidate; or the gradients of
// these, nil where they are not wanted.
type LSTMGates[T Float] struct{ Input, Forget, Output, Candidate []T }

// lstmBlock is the number of elements taken at a time: eight slices of them fill a first-level
// cache.
const lstmBlock = 1024

// Forward computes c' and, unless hidden is nil, h'. c' may be c.
func (k *LSTM[T]) Forward(p *Pool, cell, hidden, c []T, g LSTMGates[T]) {
	k.forward = lstmForward[T]{cell: cell[:len(c)], hidden: hidden, c: c, gates: g, path: pathOf[T](k.path)}
	p.Do(len(c), &k.forward)
}

// OutputBackward differentiates h' = sigmoid(o) ⊙ c':
//
//	dcell = addend + dh ⊙ sigmoid(o);  do = dh ⊙ c' ⊙ sigmoid'(o)
//
// addend is the gradient of c' from its other uses, or nil; do may be nil. dcell may be dh or
// addend.
func (k *LSTM[T]) OutputBackward(p *Pool, dcell, do, dh, cell, o, addend []T) {
	if do == nil { // dcell is written after it
		do = dcell
	}
	k.output = lstmOutputBackward[T]{dcell: dcell, do: do, dh: dh[:len(cell)], cell: cell, o: o, addend: addend, path: pathOf[T](k.path)}
	p.Do(len(cell), &k.output)
}

// CellBackward differentiates c' = sigmoid(f) ⊙ c + sigmoid(i) ⊙ g:
//
//	dc = dcell ⊙ sigmoid(f);  df = dcell ⊙ c ⊙ sigmoid'(f)
//	dg = dcell ⊙ sigmoid(i);  di = dcell ⊙ g ⊙ sigmoid'(i)
//
// Any of d's gradients may be nil; its Output is ignored.
func (k *LSTM[T]) CellBackward(p *Pool, dc []T, d LSTMGates[T], dcell, c []T, g LSTMGates[T]) {
	k.cell = lstmCellBackward[T]{dc: dc, d: d, dcell: dcell[:len(c)], c: c, gates: g, path: pathOf[T](k.path)}
	p.Do(len(c), &k.cell)
}

type lstmForward[T Float] struct {
	cell, hidden, c []T
	gates           LSTMGates[T]
	path            path
}

func (t *lstmForward[T]) Part(_, lo, hi int) {
	g := &t.gates
	for ; lo < hi; lo += lstmBlock {
		end := min(lo+lstmBlock, hi)
		cell := t.cell[lo:end]
		gated(t.path, cell, nil, g.Forget[lo:end], t.c[lo:end])
		gated(t.path, cell, cell, g.Input[lo:end], g.Candidate[lo:end])
		if t.hidden != nil {
			gated(t.path, t.hidden[lo:end], nil, g.Output[lo:end], cell)
		}
	}
}

type lstmOutputBackward[T Float] struct {
	dcell, do, dh, cell, o, addend []T
	path                           path
}

func (t *lstmOutputBackward[T]) Part(_, lo, hi int) {
	var addend []T
	if t.addend != nil {
		addend = t.addend[lo:hi]
	}
	gatedGradient(t.path, t.do[lo:hi], t.dcell[lo:hi], t.dh[lo:hi], t.o[lo:hi], t.cell[lo:hi], addend)
}

type lstmCellBackward[T Float] struct {
	dc, dcell, c []T
	d, gates     LSTMGates[T]
	path         path
}

// Part writes gradients that are not wanted into dc, whose own values are written last.
func (t *lstmCellBackward[T]) Part(_, lo, hi int) {
	wanted := func(x []T, lo, end int) []T {
		if x == nil {
			x = t.dc
		}
		return x[lo:end]
	}
	g := &t.gates
	for ; lo < hi; lo += lstmBlock {
		end := min(lo+lstmBlock, hi)
		dcell := t.dcell[lo:end]
		if t.d.Input != nil || t.d.Candidate != nil {
			gatedGradient(t.path, wanted(t.d.Input, lo, end), wanted(t.d.Candidate, lo, end), dcell, g.Input[lo:end], g.Candidate[lo:end], nil)
		}
		gatedGradient(t.path, wanted(t.d.Forget, lo, end), t.dc[lo:end], dcell, g.Forget[lo:end], t.c[lo:end], nil)
	}
}
