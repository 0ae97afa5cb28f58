package mix

import (
	"cmp"
	"strconv"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// perToken returns the grid of a kernel with one thread for each token: its blocks are small, to
// spread few tokens over the device.
func perToken(tokens int) cuda.Grid { return cuda.Over(tokens, 64) }

// wideBlocks is the largest number of blocks of Sinkhorn's kernels for more than eight streams, in
// which a block takes a token at a time.
const wideBlocks = 1024

// kernel returns the beginning of the kernels' names.
func (k streamGates) kernel() string {
	return map[kernel.Carry]string{kernel.Sinkhorn: "sinkhorn", kernel.Permutations: "permutations", kernel.Kronecker: "kronecker"}[k.carry]
}

// onDevice returns the end of the kernels' names, their grid, and how many tokens they handle at
// once.
func (k streamGates) onDevice(tokens int) (ending string, grid cuda.Grid, slots int) {
	switch {
	case k.carry != kernel.Sinkhorn:
		return strconv.Itoa(k.n), perToken(tokens), tokens
	case k.n <= 4:
		return "4", perToken(tokens), tokens
	case k.n <= 8:
		return "8", perToken(tokens), tokens
	}
	slots = min(tokens, wideBlocks)
	return "_wide", cuda.Grid{X: slots, Threads: 64}, slots
}

// sizes returns the last arguments of the kernels.
func (k streamGates) sizes(tokens int) cuda.Args {
	if k.carry == kernel.Sinkhorn {
		return cuda.Args{cuda.Long(tokens), cuda.Ints(k.n, k.iterations)}
	}
	return cuda.Args{cuda.Long(tokens)}
}

func (k streamGates) Launch(c *graph.DeviceCall) {
	c.Unify()
	if k.carry >= kernel.Unmixed {
		z, alpha, bias := k.inputs()
		p := k.params(c.Signature(0))
		c.Launch("sigmoid_gates", cuda.Over(c.Out().N, 256), c.Out(), c.In(z), c.In(alpha), c.In(bias),
			cuda.Long(p.Tokens), cuda.Ints(k.n, p.Groups()), cuda.Float(cmp.Or(k.post, 2)), cuda.Float(k.eps))
		return
	}
	tokens := c.Signature(0).Leading()
	ending, grid, _ := k.onDevice(tokens)
	c.Launch(k.kernel()+ending, grid, c.Out(), c.In(0), c.In(1), c.In(2), k.sizes(tokens))
}

func (k streamGatesGrad) Launch(c *graph.DeviceCall) {
	c.Unify()
	if k.of.carry >= kernel.Unmixed {
		k.sigmoids(c)
		return
	}
	tokens := c.Signature(1).Leading()
	ending, grid, slots := k.of.onDevice(tokens)
	out := cuda.Args{c.Out()}
	if k.of.carry == kernel.Sinkhorn {
		out = append(out, c.Scratch(cuda.F32, 2*k.of.iterations*k.of.n*slots)) // [2 iterations, n, slots]
	}
	c.Launch(k.of.kernel()+"_grad"+ending, grid, out, c.In(0), c.In(1), c.In(2), c.In(3), k.of.sizes(tokens))
	finishGates(c, k.of.n)
}

// sigmoids computes the gradients of SigmoidCoefficients.
func (k streamGatesGrad) sigmoids(c *graph.DeviceCall) {
	z, alpha, bias := k.of.inputs()
	p := k.of.params(c.Signature(1))
	width := p.Columns()
	sums := c.TokenSums(p.Tokens, width)
	dz, in := c.Out(), func(i int) cuda.Array { return cuda.Array{} }
	if k.of.fixed {
		dz = cuda.Array{}
	} else {
		in = func(i int) cuda.Array { return c.In(1 + i) }
	}
	c.Launch("sigmoid_gates_grad", sums.Grid(), dz, sums.Partial, c.In(0), in(z), in(alpha), c.In(1+bias),
		cuda.Long(p.Tokens), cuda.Ints(k.of.n, p.Groups()), cuda.Float(cmp.Or(k.of.post, 2)), cuda.Int(sums.Chunk))
	if k.of.fixed {
		sums.Columns(c, c.Out(), 0, c.Accumulate())
		return
	}
	dalpha, accumulate := c.SecondaryOut(0)
	if !dalpha.None() {
		sums.Groups(c, "totals_groups", dalpha, accumulate, cuda.Ints(k.of.n, width))
	}
	dbias, accumulate := c.SecondaryOut(1)
	sums.Columns(c, dbias, 0, accumulate)
}

// finishGates completes the gradients of n streams' coefficients: the output holds the
// gradient of zt = alpha[group] z + bias and is overwritten by the gradient of z; the
// secondaries receive the gradients of alpha and bias.
func finishGates(c *graph.DeviceCall, n int) {
	tokens, width := c.Signature(1).Leading(), c.Signature(1).Width()
	sums := c.TokenSums(tokens, width)
	c.Launch("stream_gates_sums", sums.Grid(), c.Out(), sums.Partial, c.In(1), c.In(2),
		cuda.Long(tokens), cuda.Ints(width, n, sums.Chunk))
	dalpha, accumulate := c.SecondaryOut(0)
	if !dalpha.None() {
		sums.Groups(c, "totals_groups", dalpha, accumulate, cuda.Ints(n, 2*n))
	}
	dbias, accumulate := c.SecondaryOut(1)
	sums.Columns(c, dbias, 0, accumulate)
}
