package kernel

// ExpertGemmBFloat16 does what ExpertGemm does for bfloat16, by GemmBFloat16. The workers of the
// Pool share each expert's product, one expert after another.
type ExpertGemmBFloat16[C Stored] struct {
	// Epilogue and Whole have the same meaning as in ExpertGemm.
	Epilogue Epilogue
	Whole    bool

	gemm GemmBFloat16[C]
}

// Rows computes c_j = a_j W_e(j) for every row j of d, with c [rows, n] and every expert's W [k,
// n], packed. a is [rows, k] or, if gathered, [tokens, k], where a_j belongs to the row's token.
func (g *ExpertGemmBFloat16[C]) Rows(p *Pool, c []C, a []BFloat16, w []PackedBFloat16, d Dispatch, gathered bool) {
	g.gemm.wholeRows = g.Whole
	for e := range d.Experts {
		first, end := d.rows(e)
		if first == end {
			continue
		}
		n, k := w[e].n, w[e].k
		q := pairProduct[C]{m: end - first, n: n, k: k, alpha: 1, lda: k, c: c[first*n:], ldc: n, epilogue: g.Epilogue, row: first}
		q.a, q.gatherA = operand(a[:choose(gathered, d.Tokens, d.Rows())*k], k, first, end, &d, gathered)
		q.check()
		g.gemm.runPart(p, q, w[e])
	}
}

// Weights computes dw_e (+)= sum over the rows j of e of a_j^T b_j for every expert, with dw
// [experts, m, n]; a is [rows, m] and b [rows, n] or, if gathered, [tokens, m] and [tokens, n].
// accumulate adds to what dw holds. The sum of an expert without rows is 0.
func (g *ExpertGemmBFloat16[C]) Weights(p *Pool, dw []C, a, b []BFloat16, d Dispatch, m, n int, gatherA, gatherB, accumulate bool) {
	g.gemm.wholeRows = false
	for e := range d.Experts {
		first, end := d.rows(e)
		if first == end {
			if !accumulate {
				clear(dw[e*m*n : (e+1)*m*n])
			}
			continue
		}
		q := pairProduct[C]{ta: true, m: m, n: n, k: end - first, alpha: 1, lda: m, c: dw[e*m*n : (e+1)*m*n], ldc: n}
		if accumulate {
			q.beta = 1
		}
		q.a, q.gatherA = operand(a[:choose(gatherA, d.Tokens, d.Rows())*m], m, first, end, &d, gatherA)
		from := source{ld: n}
		from.rows, from.gather = operand(b[:choose(gatherB, d.Tokens, d.Rows())*n], n, first, end, &d, gatherB)
		g.gemm.runFrom(p, q, from)
	}
}
