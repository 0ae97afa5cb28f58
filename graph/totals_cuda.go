//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

// totals computes out (+)= the sums of the columns of partial [rows, stride], as many as
// out has elements, + addend, the zero Array for none.
func (c *deviceCall) totals(out, partial, addend cuda.Array, rows, stride int, accumulate bool) error {
	return c.launch("totals", cuda.Grid{X: (out.N + 7) / 8, Threads: 256}, out.Arg(), partial.Arg(), addend.Arg(),
		cuda.Int(rows), cuda.Int(out.N), cuda.Int(stride), cuda.Bool(accumulate))
}

// tokenSums are sums over tokens that blocks share: each leaves two rows of width sums.
type tokenSums struct {
	partial              cuda.Array // [blocks, 2, width]
	blocks, chunk, width int
}

// tokenSums divides tokens of width entries, for column_sums of gates.cuh.
func (c *deviceCall) tokenSums(tokens, width int) (s tokenSums, err error) {
	const threads, most = 256, 256
	s.width, s.chunk = width, max(4*max(1, threads/width), (tokens+most-1)/most)
	s.blocks = (tokens + s.chunk - 1) / s.chunk
	s.partial, err = c.scratch(cuda.F32, s.blocks*2*width)
	return s, err
}

func (s tokenSums) grid() cuda.Grid {
	return cuda.Grid{X: s.blocks, Y: (s.width + 255) / 256, Threads: 256}
}

// row returns the first or the second of each block's two rows.
func (s tokenSums) row(i int) cuda.Array {
	return s.partial.Slice(i*s.width, max(0, s.partial.N-i*s.width))
}

// columns adds the blocks' sums of a row to one total for each column; out may be none.
func (s tokenSums) columns(c *deviceCall, out cuda.Array, row int, accumulate bool) error {
	if out.None() {
		return nil
	}
	return c.totals(out, s.row(row), cuda.Array{}, s.blocks, 2*s.width, accumulate)
}

// groups adds the second row's sums to one total for each group of columns, by the kernel
// of that name, which is told how the columns are grouped.
func (s tokenSums) groups(c *deviceCall, kernel string, out cuda.Array, accumulate bool, grouping ...cuda.Arg) error {
	args := []cuda.Arg{out.Arg(), s.row(1).Arg(), cuda.Int(s.blocks), cuda.Int(s.width), cuda.Int(2 * s.width)}
	return c.launch(kernel, cuda.Grid{X: out.N, Threads: 256}, append(append(args, grouping...), cuda.Bool(accumulate))...)
}

// result is a secondary's memory in the type that a kernel writes.
type result struct {
	array      cuda.Array // the zero Array: not wanted
	accumulate bool
	deliver    func() error // brings array to where it belongs
}

// companionAs returns secondary i's memory, or scratch memory where that is of another
// type, from which deliver converts it.
func (c *deviceCall) companionAs(i int, t cuda.Type) (result, error) {
	to, accumulate, err := c.secondaryOut(i)
	if err != nil || to.None() || to.Type == t {
		return result{to, accumulate, func() error { return nil }}, err
	}
	from, err := c.scratch(t, to.N)
	return result{array: from, deliver: func() error {
		same, err := c.converted(from, to.Type)
		if err != nil {
			return err
		}
		return c.sum(to, []cuda.Array{same}, accumulate)
	}}, err
}
