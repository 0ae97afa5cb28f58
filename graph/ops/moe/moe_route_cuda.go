package moe

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// sortChunk is the number of assignments that a block sorts (CHUNK in cuda/moe_route.cu).
const sortChunk = 256

// Launch multiplies in 32-bit floats, whatever the precision of activations.
func (k routerLogits) Launch(c *graph.DeviceCall) {
	u := c.InAs(0, cuda.F32)
	router := c.InAs(1, cuda.F32)
	inputs, outputs := k.Sides(c.Signature(1))
	c.Gemm(cuda.Gemm{M: c.Signature(0).Leading(), N: outputs, K: inputs, Alpha: k.Scale,
		A: u, LDA: inputs, B: router, LDB: outputs, C: c.Out(), LDC: outputs})
}

func (k route) Launch(c *graph.DeviceCall) {
	logits := c.InAs(0, cuda.F32)
	memory, _ := c.SecondaryOut(0)
	tokens, experts := c.Signature(0).Leading(), c.Signature(0).Width()
	var d deviceDispatch // stays empty in a copy of the gates made for recomputation
	if !memory.None() {
		d = newDeviceDispatch(memory, k.topK, experts)
	}
	c.Launch("moe_route", warpEach(tokens),
		c.Out(), d.choices, logits, cuda.Ints(tokens, experts, k.topK), cuda.Bool(k.raw))
	if !memory.None() {
		d.sort(c)
	}
}

// sort fills the rest of the dispatch from its choices.
func (d deviceDispatch) sort(c *graph.DeviceCall) {
	chunks := (d.rows + sortChunk - 1) / sortChunk
	counts := c.Scratch(cuda.I32, d.experts*chunks) // [experts, chunks]
	grid, rows := cuda.Grid{X: chunks, Threads: sortChunk}, cuda.Int(d.rows)
	c.Launch("moe_count", grid, counts, d.choices, rows, cuda.Int(d.experts))
	c.Launch("moe_offsets", cuda.Grid{X: 1, Threads: 1024},
		d.offsets, counts, cuda.Ints(d.experts, chunks))
	c.Launch("moe_place", grid, d.places, d.order, d.choices, d.offsets, counts, rows)
}

func (k routeGrad) Launch(c *graph.DeviceCall) {
	dgates := c.InAs(0, cuda.F32)
	logits := c.InAs(1, cuda.F32)
	tokens := c.Result().Leading()
	c.Launch("moe_route_grad", warpEach(tokens), c.Out(), dgates, logits,
		cuda.Ints(tokens, c.Result().Width(), k.of.topK), cuda.Bool(k.of.raw))
}

func (k expertCounts) Launch(c *graph.DeviceCall) {
	d := newDeviceDispatch(c.In(0), k.topK, k.experts)
	c.Launch("moe_expert_counts", cuda.Over(k.experts, 256), c.Out(), d.offsets, cuda.Int(k.experts))
}
