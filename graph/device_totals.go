package graph

import (
	"slices"

	"github.com/residua-go/residua/graph/cuda"
)

// Totals computes out (+)= addend + the sums over the rows of partial [rows, stride], of which
// it reads the first out.N columns. The zero Array stands for no addend.
func (c *DeviceCall) Totals(out, partial, addend cuda.Array, rows, stride int, accumulate bool) {
	c.Launch("totals", cuda.Grid{X: (out.N + 7) / 8, Threads: 256}, out, partial, addend,
		cuda.Ints(rows, out.N, stride), cuda.Bool(accumulate))
}

// TokenSums are sums over tokens, divided among blocks of threads: each block writes two rows
// of width partial sums.
type TokenSums struct {
	Partial              cuda.Array // [blocks, 2, width]
	blocks, Chunk, width int
}

// TokenSums splits tokens of width entries among blocks, for column_sums in gates.cuh.
func (c *DeviceCall) TokenSums(tokens, width int) (s TokenSums) {
	const threads, most = 256, 256
	s.width, s.Chunk = width, max(4*max(1, threads/width), (tokens+most-1)/most)
	s.blocks = (tokens + s.Chunk - 1) / s.Chunk
	s.Partial = c.Scratch(cuda.F32, s.blocks*2*width)
	return s
}

// Grid returns the launch grid of a kernel that computes the partial sums.
func (s TokenSums) Grid() cuda.Grid {
	return cuda.Grid{X: s.blocks, Y: (s.width + 255) / 256, Threads: 256}
}

// Row returns row 0 or 1 of each block's two rows.
func (s TokenSums) Row(i int) cuda.Array {
	return s.Partial.Slice(i*s.width, max(0, s.Partial.N-i*s.width))
}

// Columns sums a row over the blocks, giving one total for each column. out may be the zero Array.
func (s TokenSums) Columns(c *DeviceCall, out cuda.Array, row int, accumulate bool) {
	if !out.None() {
		c.Totals(out, s.Row(row), cuda.Array{}, s.blocks, 2*s.width, accumulate)
	}
}

// Groups sums row 1 over the blocks and over groups of columns, by the named kernel. grouping tells
// the kernel how the columns are grouped.
func (s TokenSums) Groups(c *DeviceCall, kernel string, out cuda.Array, accumulate bool, grouping ...cuda.Arg) {
	c.Launch(kernel, cuda.Grid{X: out.N, Threads: 256}, out, s.Row(1), cuda.Ints(s.blocks, s.width, 2*s.width),
		cuda.Args(grouping), cuda.Bool(accumulate))
}

// SecondaryResult is memory for a secondary, in the type that a kernel writes.
type SecondaryResult struct {
	Array      cuda.Array // the zero Array: the secondary was not built
	Accumulate bool
	Deliver    func() // copies Array into the secondary's own memory if that is elsewhere
}

// SecondaryAs returns secondary i's memory if it has type t, else scratch memory that Deliver
// converts into it.
func (c *DeviceCall) SecondaryAs(i int, t cuda.Type) SecondaryResult {
	to, accumulate := c.SecondaryOut(i)
	if to.None() || to.Type == t {
		return SecondaryResult{to, accumulate, func() {}}
	}
	from := c.Scratch(t, to.N)
	return SecondaryResult{Array: from, Deliver: func() {
		same := c.Converted(from, to.Type)
		c.Sum(to, []cuda.Array{same}, accumulate)
	}}
}

// SecondarySum is a secondary that a backward pass computes as a sum over tokens.
type SecondarySum struct {
	To         cuda.Array
	Accumulate bool
	Partial    cuda.Array // [sets, blocks, to.N/sets]
	Blocks     int
}

// SecondarySum prepares secondary i as a sum of the partial sums of the blocks; sets 0 means 1.
func (c *DeviceCall) SecondarySum(i, blocks int) (s SecondarySum) {
	s.Blocks = blocks
	s.To, s.Accumulate = c.SecondaryOut(i)
	if !s.To.None() {
		s.Partial = c.Scratch(cuda.F32, blocks*s.To.N)
	}
	return s
}

// FinishSums sums what the blocks have written, for each set of columns: at most three sums of one
// set each in one launch, if all are 32-bit floats.
func (c *DeviceCall) FinishSums(sets int, sums ...SecondarySum) {
	sums = slices.DeleteFunc(sums, func(s SecondarySum) bool { return s.To.None() })
	other := func(s SecondarySum) bool { return s.To.Type != cuda.F32 || s.Blocks != sums[0].Blocks }
	if sets > 1 || len(sums) < 2 || len(sums) > 3 || slices.ContainsFunc(sums, other) {
		for _, s := range sums {
			s.Finish(c, sets)
		}
		return
	}
	args, groups := cuda.Args{cuda.Int(sums[0].Blocks)}, 0
	for i := range 3 {
		var s SecondarySum // of width 0
		if i < len(sums) {
			s = sums[i]
		}
		args = append(args, s.To, s.Partial, cuda.Int(s.To.N), cuda.Bool(s.Accumulate))
		groups += cuda.CeilDiv(s.To.N, 32)
	}
	c.Launch("sum_partials_of_three", cuda.Grid{X: groups, Threads: 512}, args)
}

// Finish sums what the blocks have written, for each set of columns.
func (s SecondarySum) Finish(c *DeviceCall, sets int) {
	if s.To.None() {
		return
	}
	width := s.To.N / sets
	c.Launch("sum_partials"+s.To.Suffix(), cuda.Grid{X: cuda.CeilDiv(width, 32), Y: sets, Threads: 512},
		s.To, s.Partial, cuda.Ints(s.Blocks, width), cuda.Bool(s.Accumulate))
}

// InAll returns the numbered inputs, converted to type t.
func (c *DeviceCall) InAll(t cuda.Type, numbers ...int) []cuda.Array {
	arrays := make([]cuda.Array, len(numbers))
	for i, n := range numbers {
		arrays[i] = c.InAs(n, t)
	}
	return arrays
}
