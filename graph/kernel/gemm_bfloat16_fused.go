package kernel

// FusedBFloat16 is products of bfloat16 with an activation made of their results, block by block while those are in cache. As a
// product that is stored in bfloat16 would be, each result is rounded before the activation reads it; what is written
// is float32, for the caller to round.
type FusedBFloat16 struct {
	gemm     GemmBFloat16[float32]
	blocks   taskOfBlocks
	rounded  roundedTask
	activate activateTask[float32]
	swiGLU   swiGLUTask[float32]
}

// roundedTask rounds x in place before another task.
type roundedTask struct {
	x    []float32
	then Task
}

func (t *roundedTask) Part(worker, lo, hi int) {
	roundInPlace(t.x[lo:hi])
	t.then.Part(worker, lo, hi)
}

// roundInPlace rounds each element to the nearest bfloat16.
func roundInPlace(x []float32) {
	for i, v := range x {
		x[i] = ToBFloat16(v).Float32()
	}
}

// run computes c [m, n] = a op(b), and then, block by block, rounds it and runs the task.
func (k *FusedBFloat16) run(p *Pool, transposed bool, m, n, inner int, a []BFloat16, b []BFloat16, c []float32, then Task) {
	k.rounded = roundedTask{x: c[:m*n], then: then}
	k.gemm.Epilogue = k.blocks.of(&k.rounded, n)
	k.gemm.Run(p, false, transposed, m, n, inner, 1, a, inner, b, choose(transposed, inner, n), 0, c, n)
}

// Activated computes h = x op(w) and y = f(h), as GemmActivated.Forward.
func (k *FusedBFloat16) Activated(p *Pool, h, y []float32, x, w []BFloat16, rows, in, out int, transposed bool, f Activation) {
	k.activate = activateTask[float32]{y: y[:rows*out], x: h[:rows*out], f: f, path: pathOf[float32](0)}
	k.run(p, transposed, rows, out, in, x, w, h, &k.activate)
}

// ActivatedBackward computes dh = (dy op(w)^T) f'(h), as GemmActivated.Backward.
func (k *FusedBFloat16) ActivatedBackward(p *Pool, dh, h []float32, dy, w []BFloat16, rows, in, out int, transposed bool, f Activation) {
	n := rows * in
	k.activate = activateTask[float32]{y: dh[:n], dy: dh[:n], x: h[:n], f: f, path: pathOf[float32](0)}
	k.run(p, !transposed, rows, in, out, dy, w, dh, &k.activate)
}

// SwiGLU computes value = x w and y = silu(gate) ⊙ value, as GemmSwiGLU.Forward.
func (k *FusedBFloat16) SwiGLU(p *Pool, y, value, gate []float32, x, w []BFloat16, rows, in, out int) {
	n := rows * out
	k.swiGLU = swiGLUTask[float32]{y: y[:n], gate: gate[:n], value: value[:n], path: pathOf[float32](0)}
	k.run(p, false, rows, out, in, x, w, value, &k.swiGLU)
}

// SwiGLUBackward computes the gradients of gate and value, as GemmSwiGLU.Backward.
func (k *FusedBFloat16) SwiGLUBackward(p *Pool, dgate, dvalue, gate, value []float32, dy, w []BFloat16, rows, in, out int, transposed bool) {
	n := rows * in
	k.swiGLU = swiGLUTask[float32]{y: dgate[:n], dvalue: dvalue[:n], dy: dvalue[:n], gate: gate[:n], value: value[:n], path: pathOf[float32](0)}
	k.run(p, !transposed, rows, in, out, dy, w, dvalue, &k.swiGLU)
}
