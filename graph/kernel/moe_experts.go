package kernel

// ExpertSizes are the sizes of the experts of a mixture, and the kind of their GELU.
type ExpertSizes struct {
	Width  int  // D: entries of a token, and of an expert's output
	Hidden int  // FF
	Exact  bool // see Gelu
}

// Experts computes the feed-forward of a mixture of experts. Its rows j are the assignments of a
// Dispatch: row j stands for token t(j) with expert e(j) and gate g_j.
//
//	h_j = u_t(j) W1_e(j) + b1_e(j)               [rows, FF]
//	a_j = gelu(h_j)                              [rows, FF]
//	o_j = a_j W2_e(j)                            [rows, D]
//	y_t = sum over the rows j of t of g_j (o_j + b2_e(j)), in the order of the choices   [tokens, D]
//
// Gates are [tokens, K], W1 [experts, D, FF], W2 [experts, FF, D]; b1 [experts, FF] and b2
// [experts, D] may be nil. Tokens are gathered while products pack them.
type Experts[T Float] struct {
	gemm    expertGemm[T]
	hidden  geluOfExperts[T]
	back    gradientOfExperts[T]
	combine combineTask[T]
	biases  expertSums[T]
	factors []T // gates in the order of the rows
}

// Hidden computes h and, unless a is nil, a from u [tokens, D].
func (k *Experts[T]) Hidden(p *Pool, h, a, u, w1, b1 []T, d Dispatch, s ExpertSizes) {
	k.hidden = geluOfExperts[T]{h: h[:d.Rows()*s.Hidden], a: a, bias: b1, width: s.Hidden, f: Gelu(s.Exact), d: d, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue, k.gemm.Whole = nil, false
	if a != nil || b1 != nil {
		k.gemm.Epilogue = &k.hidden
	}
	k.gemm.Rows(p, h, u, w1, d, s.Hidden, s.Width, true, false)
}

// Out computes o and y from a.
func (k *Experts[T]) Out(p *Pool, y, o, a, w2, b2, gates []T, d Dispatch, s ExpertSizes) {
	k.gemm.Epilogue, k.gemm.Whole = nil, false
	k.gemm.Rows(p, o, a, w2, d, s.Width, s.Hidden, false, false)
	k.combineRows(p, y, o, b2, gates, d, s.Width, false)
}

// GradHidden computes the gradients of the hidden rows and of the gates from dy, the gradient of y:
//
//	r_j = W2_e(j) dy_t(j)                        [rows, FF]
//	dg_j = r_j . a_j + dy_t(j) . b2_e(j)
//	dx_j = g_j r_j                               h nil: the gradient of a
//	dx_j = g_j r_j gelu'(h_j)                    else: that of h
//
// dgates may be nil if it is not wanted.
func (k *Experts[T]) GradHidden(p *Pool, dx, dgates, dy, w2, b2, a, h, gates []T, d Dispatch, s ExpertSizes) {
	k.back = gradientOfExperts[T]{dx: dx[:d.Rows()*s.Hidden], dgates: dgates, dy: dy, a: a, h: h, gates: gates, bias: b2,
		width: s.Hidden, outputs: s.Width, f: Gelu(s.Exact), d: d, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue, k.gemm.Whole = &k.back, true
	k.gemm.Rows(p, dx, dy, w2, d, s.Hidden, s.Width, true, true)
}

// GradU computes the gradient of u from dh, the gradient of h: its rows du_j = W1_e(j) dh_j, in
// rows [rows, D], and their sums over each token, in du [tokens, D]. du may be nil; accumulate adds
// the sums to what it holds.
func (k *Experts[T]) GradU(p *Pool, du, rows, dh, w1 []T, d Dispatch, s ExpertSizes, accumulate bool) {
	k.gemm.Epilogue, k.gemm.Whole = nil, false
	k.gemm.Rows(p, rows, dh, w1, d, s.Width, s.Hidden, false, true)
	if du != nil {
		k.combineRows(p, du, rows, nil, nil, d, s.Width, accumulate)
	}
}

// GradW1 computes dW1_e (+)= sum over the rows j of e of u_t(j)^T dh_j.
func (k *Experts[T]) GradW1(p *Pool, dw, u, dh []T, d Dispatch, s ExpertSizes, accumulate bool) {
	k.gemm.Weights(p, dw, u, dh, nil, d, s.Width, s.Hidden, true, false, accumulate)
}

// GradW2 computes dW2_e (+)= sum over the rows j of e of g_j a_j^T dy_t(j).
func (k *Experts[T]) GradW2(p *Pool, dw, a, dy, gates []T, d Dispatch, s ExpertSizes, accumulate bool) {
	k.factors = grow(k.factors, d.Rows())
	for row, assignment := range d.Order {
		k.factors[row] = gates[assignment]
	}
	k.gemm.Weights(p, dw, a, dy, k.factors, d, s.Hidden, s.Width, false, true, accumulate)
}

// geluOfExperts adds the bias to h and computes a = gelu(h).
type geluOfExperts[T Float] struct {
	h, a, bias []T // [rows, width] each, bias [experts, width]
	width      int
	f          Activation
	d          Dispatch
	path       path
}

// Block implements Epilogue.
func (e *geluOfExperts[T]) Block(i, j, m, n int) {
	for row := i; row < i+m; row++ {
		first := row*e.width + j
		h := e.h[first : first+n]
		if e.bias != nil {
			b := e.d.expert(row)*e.width + j
			addTo(e.path, h, e.bias[b:b+n])
		}
		if e.a != nil {
			activate(e.path, e.f, e.a[first:first+n], h)
		}
	}
}

// gradientOfExperts completes GradHidden. The blocks of a row must come in order.
type gradientOfExperts[T Float] struct {
	dx, a, h       []T // [rows, width]
	dy             []T // [tokens, outputs]
	bias           []T // [experts, outputs]
	dgates, gates  []T // [tokens, K]
	width, outputs int
	f              Activation
	d              Dispatch
	path           path
}

// Block implements Epilogue.
func (e *gradientOfExperts[T]) Block(i, j, m, n int) {
	for row := i; row < i+m; row++ {
		first := row*e.width + j
		dx, assignment := e.dx[first:first+n], e.d.Order[row]
		if e.dgates != nil {
			if j == 0 {
				e.dgates[assignment] = e.biasGradient(row)
			}
			e.dgates[assignment] += rowDot(e.path, dx, e.a[first:first+n])
		}
		scaleRow(e.path, dx, e.gates[assignment])
		if e.h != nil {
			activateGradient(e.path, e.f, dx, dx, e.h[first:first+n])
		}
	}
}

// biasGradient returns dy_t(j) . b2_e(j).
func (e *gradientOfExperts[T]) biasGradient(row int) T {
	if e.bias == nil {
		return 0
	}
	token, expert := e.d.token(row), e.d.expert(row)
	return rowDot(e.path, rowOf(e.dy, token, e.outputs), rowOf(e.bias, expert, e.outputs))
}

func (k *Experts[T]) combineRows(p *Pool, y, rows, bias, gates []T, d Dispatch, width int, accumulate bool) {
	k.combine = combineTask[T]{y: y[:d.Tokens*width], rows: rows[:d.Rows()*width], bias: bias, gates: gates, d: d,
		width: width, accumulate: accumulate, path: pathOf[T](k.gemm.path)}
	p.Do(d.Tokens, &k.combine)
}

// combineTask sums the rows of each token, multiplied by their gates if there are any.
type combineTask[T Float] struct {
	y, rows, bias, gates []T
	d                    Dispatch
	width                int
	accumulate           bool
	path                 path
}

func (t *combineTask[T]) Part(_, lo, hi int) {
	k := t.d.K
	for i := lo; i < hi; i++ {
		y := rowOf(t.y, i, t.width)
		for c := i * k; c < (i+1)*k; c++ {
			gate := T(1)
			if t.gates != nil {
				gate = t.gates[c]
			}
			row := rowOf(t.rows, int(t.d.Places[c]), t.width)
			if c == i*k && !t.accumulate {
				scaleTo(t.path, y, row, gate)
			} else {
				addMultiple(t.path, y, row, gate)
			}
			if t.bias != nil {
				addMultiple(t.path, y, rowOf(t.bias, int(t.d.Choices[c]), t.width), gate)
			}
		}
	}
}
