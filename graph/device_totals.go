package graph

import "github.com/residua-go/residua/graph/cuda"

// Totals computes out (+)= the sums of the columns of partial [rows, stride], as many as
// out has elements, + addend, the zero Array for none.
func (c *DeviceCall) Totals(out, partial, addend cuda.Array, rows, stride int, accumulate bool) {
	c.Launch("totals", cuda.Grid{X: (out.N + 7) / 8, Threads: 256}, out, partial, addend,
		cuda.Ints(rows, out.N, stride), cuda.Bool(accumulate))
}

// TokenSums are sums over tokens that blocks share: each leaves two rows of width sums.
type TokenSums struct {
	Partial              cuda.Array // [blocks, 2, width]
	blocks, Chunk, width int
}

// TokenSums divides tokens of width entries, for column_sums of gates.cuh.
func (c *DeviceCall) TokenSums(tokens, width int) (s TokenSums) {
	const threads, most = 256, 256
	s.width, s.Chunk = width, max(4*max(1, threads/width), (tokens+most-1)/most)
	s.blocks = (tokens + s.Chunk - 1) / s.Chunk
	s.Partial = c.Scratch(cuda.F32, s.blocks*2*width)
	return s
}

// Grid is that of a kernel that leaves the sums.
func (s TokenSums) Grid() cuda.Grid {
	return cuda.Grid{X: s.blocks, Y: (s.width + 255) / 256, Threads: 256}
}

// Row returns the first or the second of each block's two rows.
func (s TokenSums) Row(i int) cuda.Array {
	return s.Partial.Slice(i*s.width, max(0, s.Partial.N-i*s.width))
}

// Columns adds the blocks' sums of a row to one total for each column; out may be none.
func (s TokenSums) Columns(c *DeviceCall, out cuda.Array, row int, accumulate bool) {
	if !out.None() {
		c.Totals(out, s.Row(row), cuda.Array{}, s.blocks, 2*s.width, accumulate)
	}
}

// Groups adds the second row's sums to one total for each group of columns, by the kernel
// of that name, which is told how the columns are grouped.
func (s TokenSums) Groups(c *DeviceCall, kernel string, out cuda.Array, accumulate bool, grouping ...cuda.Arg) {
	c.Launch(kernel, cuda.Grid{X: out.N, Threads: 256}, out, s.Row(1), cuda.Ints(s.blocks, s.width, 2*s.width),
		cuda.Args(grouping), cuda.Bool(accumulate))
}

// SecondaryResult is a secondary's memory in the type that a kernel writes.
type SecondaryResult struct {
	Array      cuda.Array // the zero Array: not wanted
	Accumulate bool
	Deliver    func() // brings array to where it belongs
}

// SecondaryAs returns secondary i's memory, or scratch memory where that is of another
// type, from which deliver converts it.
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

// SecondarySum is a sum over tokens that a backward pass makes: the zero Array is not wanted.
type SecondarySum struct {
	To         cuda.Array
	Accumulate bool
	Partial    cuda.Array // [sets, blocks, to.N/sets]
	Blocks     int
}

// SecondarySum is secondary i as a sum that blocks share; sets 0 is one.
func (c *DeviceCall) SecondarySum(i, blocks int) (s SecondarySum) {
	s.Blocks = blocks
	s.To, s.Accumulate = c.SecondaryOut(i)
	if !s.To.None() {
		s.Partial = c.Scratch(cuda.F32, blocks*s.To.N)
	}
	return s
}

// Finish adds what the blocks have left, for each set of columns.
func (s SecondarySum) Finish(c *DeviceCall, sets int) {
	if s.To.None() {
		return
	}
	width := s.To.N / sets
	c.Launch("sum_partials"+s.To.Suffix(), cuda.Grid{X: cuda.CeilDiv(width, 32), Y: sets, Threads: 512},
		s.To, s.Partial, cuda.Ints(s.Blocks, width), cuda.Bool(s.Accumulate))
}

// InAll are some inputs in one type.
func (c *DeviceCall) InAll(t cuda.Type, numbers ...int) []cuda.Array {
	arrays := make([]cuda.Array, len(numbers))
	for i, n := range numbers {
		arrays[i] = c.InAs(n, t)
	}
	return arrays
}
