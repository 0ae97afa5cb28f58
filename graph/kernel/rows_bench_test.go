package kernel

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkHalfRows measures kernels on floats, on rows of bfloat16, and on floats that are widened
// from bfloat16 before the kernel and rounded after it, at the sizes of transformer-49m and
// rmt-46m.
func BenchmarkHalfRows(b *testing.B) {
	const tokens, width, r, dk, dv = 1024, 384, 16, 32, 32
	stream, reads := tokens*dk*dv, tokens*r*dv
	norm := NormParams{Rows: tokens, Width: width, Eps: 1e-6}
	read := NormReadParams{Tokens: tokens, R: r, Dk: dk, Dv: dv, Eps: 1e-6}
	attention := AttentionParams{Batch: 2, Seq: 512, Heads: 6, HeadDim: 64, Scale: 0.125}
	packed, lse := tokens*attention.packedWidth(), make([]float32, tokens*attention.Heads)
	h := halfRows{r: rand.New(rand.NewPCG(1, 2))}
	gain, keys, gains, dkeys, mean, rstd := h.floats(max(width, dk*dv)), h.floats(r*dk), make([]float32, max(width, dk*dv)), make([]float32, r*dk), make([]float32, tokens), make([]float32, tokens)
	for i := range rstd {
		rstd[i] = 1
	}
	var (
		norms    Norm[float32]
		sum      Add[float32]
		normRead NormRead[float32]
		write    Write[float32]
		wgrad    WriteGrad[float32]
		attend   Attention[float32]
	)
	for _, c := range []struct {
		name   string
		inputs []int // sizes of the inputs
		output int
		run    func(p *Pool, out Rows[float32], in []Rows[float32])
	}{
		{"Norm", []int{tokens * width}, tokens * width, func(p *Pool, out Rows[float32], in []Rows[float32]) {
			norms.Forward(p, out, in[0], gain[:width], nil, mean, rstd, norm)
		}},
		{"NormGrad", []int{tokens * width, tokens * width, tokens * width}, tokens * width, func(p *Pool, out Rows[float32], in []Rows[float32]) {
			norms.Backward(p, out, in[0], gains[:width], nil, in[1], in[2], gain[:width], mean, rstd, false, norm)
		}},
		{"Add", []int{tokens * width, tokens * width}, tokens * width, func(p *Pool, out Rows[float32], in []Rows[float32]) { sum.Run(p, out, in, false) }},
		{"NormRead", []int{stream}, reads, func(p *Pool, out Rows[float32], in []Rows[float32]) {
			normRead.Forward(p, out, in[0], gain[:dk*dv], keys, mean, rstd, read)
		}},
		{"NormReadGrad", []int{stream, reads, stream}, stream, func(p *Pool, out Rows[float32], in []Rows[float32]) {
			normRead.Backward(p, out, in[0], gains[:dk*dv], dkeys, in[1], in[2], gain[:dk*dv], keys, mean, rstd, false, false, read)
		}},
		{"Write", []int{stream, reads}, stream, func(p *Pool, out Rows[float32], in []Rows[float32]) {
			write.Run(p, out, in[0], keys, in[1], tokens, r, dk, dv)
		}},
		{"WriteGrad", []int{stream, reads}, reads, func(p *Pool, out Rows[float32], in []Rows[float32]) {
			wgrad.Run(p, out, dkeys, in[0], keys, in[1], tokens, r, dk, dv, false)
		}},
		{"Attention", []int{packed}, tokens * width, func(p *Pool, out Rows[float32], in []Rows[float32]) {
			attend.Forward(p, out, lse, in[0], nil, attention)
		}},
		{"AttentionGrad", []int{packed, tokens * width, tokens * width}, packed, func(p *Pool, out Rows[float32], in []Rows[float32]) {
			attend.Backward(p, out, in[0], in[1], in[2], lse, nil, attention)
		}},
	} {
		benchmarkRows(b, c.name, c.inputs, c.output, c.run)
	}
}

// benchmarkRows measures a kernel in these three ways on one thread.
func benchmarkRows(b *testing.B, name string, inputs []int, output int, run func(p *Pool, out Rows[float32], in []Rows[float32])) {
	h := halfRows{r: rand.New(rand.NewPCG(3, 4)), halves: true}
	var halves, wide []Rows[float32]
	for _, n := range inputs {
		halves, wide = append(halves, h.in(n)), append(wide, Of(make([]float32, n)))
	}
	out, wideOut := OfBFloat16[float32](make([]BFloat16, output)), Of(make([]float32, output))
	copies := func() {
		for i, x := range halves {
			widenBFloat16(machinePath, wide[i].floats, x.halves)
		}
	}
	copies()
	b.Run(name+"/floats", func(b *testing.B) {
		for b.Loop() {
			run(nil, wideOut, wide)
		}
	})
	b.Run(name+"/copies", func(b *testing.B) {
		for b.Loop() {
			copies()
			run(nil, wideOut, wide)
			RoundBFloat16(out.halves, wideOut.floats)
		}
	})
	b.Run(name+"/rows", func(b *testing.B) {
		for b.Loop() {
			run(nil, out, halves)
		}
	})
}
