//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

// sortChunk is the number of assignments that a block sorts (CHUNK in cuda/moe_route.cu).
const sortChunk = 256

// launch multiplies in 32-bit floats, whatever the precision of activations.
func (k routerLogits) launch(c *deviceCall) error {
	u, err := c.inAs(0, cuda.F32)
	if err != nil {
		return err
	}
	router, err := c.inAs(1, cuda.F32)
	if err != nil {
		return err
	}
	inputs, outputs := k.inOut(c.op.in[1])
	return c.gemm(cuda.Gemm{M: c.op.in[0].leading(), N: outputs, K: inputs, Alpha: k.scale,
		A: u, LDA: inputs, B: router, LDB: outputs, C: c.out(), LDC: outputs})
}

func (k route) launch(c *deviceCall) error {
	logits, err := c.inAs(0, cuda.F32)
	if err != nil {
		return err
	}
	memory, _, err := c.secondaryOut(0)
	if err != nil {
		return err
	}
	tokens, experts := c.op.in[0].leading(), c.op.in[0].width()
	var d deviceDispatch // none in a copy of the gates alone, made to recompute them
	if !memory.None() {
		d = newDeviceDispatch(memory, k.topK, experts)
	}
	err = c.launch("moe_route", warpEach(tokens),
		c.out().Arg(), d.choices.Arg(), logits.Arg(), cuda.Int(tokens), cuda.Int(experts), cuda.Int(k.topK))
	if err != nil || memory.None() {
		return err
	}
	return d.sort(c)
}

// sort fills the rest from choices.
func (d deviceDispatch) sort(c *deviceCall) error {
	chunks := (d.rows + sortChunk - 1) / sortChunk
	counts, err := c.scratch(cuda.I32, d.experts*chunks) // [experts, chunks]
	if err != nil {
		return err
	}
	grid, rows := cuda.Grid{X: chunks, Threads: sortChunk}, cuda.Int(d.rows)
	if err := c.launch("moe_count", grid, counts.Arg(), d.choices.Arg(), rows, cuda.Int(d.experts)); err != nil {
		return err
	}
	err = c.launch("moe_offsets", cuda.Grid{X: 1, Threads: 1024},
		d.offsets.Arg(), counts.Arg(), cuda.Int(d.experts), cuda.Int(chunks))
	if err != nil {
		return err
	}
	return c.launch("moe_place", grid, d.places.Arg(), d.order.Arg(), d.choices.Arg(), d.offsets.Arg(), counts.Arg(), rows)
}

func (k routeGrad) launch(c *deviceCall) error {
	dgates, err := c.inAs(0, cuda.F32)
	if err != nil {
		return err
	}
	logits, err := c.inAs(1, cuda.F32)
	if err != nil {
		return err
	}
	tokens := k.logits.leading()
	return c.launch("moe_route_grad", warpEach(tokens), c.out().Arg(), dgates.Arg(), logits.Arg(),
		cuda.Int(tokens), cuda.Int(k.logits.width()), cuda.Int(k.topK))
}

func (dispatch) launch(*deviceCall) error { return nil }

func (k expertCounts) launch(c *deviceCall) error {
	d := newDeviceDispatch(c.in(0), k.topK, k.experts)
	return c.launch("moe_expert_counts", cuda.Over(k.experts, 256), c.out().Arg(), d.offsets.Arg(), cuda.Int(k.experts))
}
