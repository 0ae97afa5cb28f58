package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// sortChunk is the number of assignments that a block sorts (CHUNK in cuda/moe_route.cu).
const sortChunk = 256

// Launch multiplies in 32-bit floats, whatever the precision of activations.
func (k routerLogits) Launch(c *graph.DeviceCall) error {
	u, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	router, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	inputs, outputs := k.Sides(c.Signature(1))
	return c.Gemm(cuda.Gemm{M: c.Signature(0).Leading(), N: outputs, K: inputs, Alpha: k.Scale,
		A: u, LDA: inputs, B: router, LDB: outputs, C: c.Out(), LDC: outputs})
}

func (k route) Launch(c *graph.DeviceCall) error {
	logits, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	memory, _, err := c.SecondaryOut(0)
	if err != nil {
		return err
	}
	tokens, experts := c.Signature(0).Leading(), c.Signature(0).Width()
	var d deviceDispatch // none in a copy of the gates alone, made to recompute them
	if !memory.None() {
		d = newDeviceDispatch(memory, k.topK, experts)
	}
	err = c.Launch("moe_route", warpEach(tokens),
		c.Out().Arg(), d.choices.Arg(), logits.Arg(), cuda.Int(tokens), cuda.Int(experts), cuda.Int(k.topK), cuda.Bool(k.raw))
	if err != nil || memory.None() {
		return err
	}
	return d.sort(c)
}

// sort fills the rest from choices.
func (d deviceDispatch) sort(c *graph.DeviceCall) error {
	chunks := (d.rows + sortChunk - 1) / sortChunk
	counts, err := c.Scratch(cuda.I32, d.experts*chunks) // [experts, chunks]
	if err != nil {
		return err
	}
	grid, rows := cuda.Grid{X: chunks, Threads: sortChunk}, cuda.Int(d.rows)
	if err := c.Launch("moe_count", grid, counts.Arg(), d.choices.Arg(), rows, cuda.Int(d.experts)); err != nil {
		return err
	}
	err = c.Launch("moe_offsets", cuda.Grid{X: 1, Threads: 1024},
		d.offsets.Arg(), counts.Arg(), cuda.Int(d.experts), cuda.Int(chunks))
	if err != nil {
		return err
	}
	return c.Launch("moe_place", grid, d.places.Arg(), d.order.Arg(), d.choices.Arg(), d.offsets.Arg(), counts.Arg(), rows)
}

func (k routeGrad) Launch(c *graph.DeviceCall) error {
	dgates, err := c.InAs(0, cuda.F32)
	if err != nil {
		return err
	}
	logits, err := c.InAs(1, cuda.F32)
	if err != nil {
		return err
	}
	tokens := k.logits.Leading()
	return c.Launch("moe_route_grad", warpEach(tokens), c.Out().Arg(), dgates.Arg(), logits.Arg(),
		cuda.Int(tokens), cuda.Int(k.logits.Width()), cuda.Int(k.of.topK), cuda.Bool(k.of.raw))
}

func (dispatch) Launch(*graph.DeviceCall) error { return nil }

func (k expertCounts) Launch(c *graph.DeviceCall) error {
	d := newDeviceDispatch(c.In(0), k.topK, k.experts)
	return c.Launch("moe_expert_counts", cuda.Over(k.experts, 256), c.Out().Arg(), d.offsets.Arg(), cuda.Int(k.experts))
}
