package kernel

// lstmBlock is the number of entries taken at a time: those of eight arrays fill a first-level
// cache, in which a block stays from one gated product to the next.
const lstmBlock = 1024

// LSTMCell computes one step of a long short-term memory cell (Hochreiter & Schmidhuber 1997; the
// forget gate: Gers et al. 2000), without tanh on the candidate g or the output:
//
//	c' = sigmoid(f) ⊙ c + sigmoid(i) ⊙ g
//	h' = sigmoid(o) ⊙ c'
//
// Both are sums of gated products, computed as in GLU. Out: c', which may be c, and h'. In: c, i,
// f, g, o; the gates before their sigmoid.
func LSTMCell[T Float](x Elements[T]) {
	for lo := 0; lo < len(x.In[0]); lo += lstmBlock {
		b := x.piece(lo, min(lo+lstmBlock, len(x.In[0])))
		cell := b.Out[0]
		gated(x.path, cell, nil, b.In[2], b.In[0])
		gated(x.path, cell, cell, b.In[1], b.In[3])
		if b.Out[1] != nil {
			gated(x.path, b.Out[1], nil, b.In[4], cell)
		}
	}
}

// LSTMOutputGradient differentiates h' = sigmoid(o) ⊙ c':
//
//	dc' = addend + dh' ⊙ sigmoid(o);  do = dh' ⊙ c' ⊙ sigmoid'(o)
//
// Out: dc', which may be dh' or addend, and do. In: dh', c', o and optionally addend, the gradient
// of c' from its other uses.
func LSTMOutputGradient[T Float](x Elements[T]) {
	gatedGradient(x.path, x.or(1), x.Out[0], x.In[0], x.In[2], x.In[1], x.In[3])
}

// LSTMCellGradient differentiates c' = sigmoid(f) ⊙ c + sigmoid(i) ⊙ g:
//
//	dc = dc' ⊙ sigmoid(f);  df = dc' ⊙ c ⊙ sigmoid'(f)
//	dg = dc' ⊙ sigmoid(i);  di = dc' ⊙ g ⊙ sigmoid'(i)
//
// Out: dc, di, df, dg. In: dc', c, i, f, g.
func LSTMCellGradient[T Float](x Elements[T]) {
	for lo := 0; lo < len(x.In[0]); lo += lstmBlock {
		b := x.piece(lo, min(lo+lstmBlock, len(x.In[0])))
		dcell := b.In[0]
		if b.Out[1] != nil || b.Out[3] != nil {
			gatedGradient(x.path, b.or(1), b.or(3), dcell, b.In[2], b.In[4], nil)
		}
		gatedGradient(x.path, b.or(2), b.Out[0], dcell, b.In[3], b.In[1], nil)
	}
}
