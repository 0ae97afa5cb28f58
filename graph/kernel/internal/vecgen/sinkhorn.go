package main

import "fmt"

// The routines of Sinkhorn's iteration work on n x n matrices of many tokens at once: a slice
// holds, for each of the n*n entries, the values of sinkhornTokens tokens, so that no sum crosses
// the lanes of a vector. The slices passed belong to the first entry; the others follow in memory.
// There are only whole vectors: sinkhornTokens is a multiple of every vector's length, and equals
// package kernel's gatedTokens.
const sinkhornTokens = 32

// sinkhornFirst is the first of n*n registers that hold a matrix, if there are enough (AVX-512);
// working registers lie below it, constants far above.
const sinkhornFirst = 8

func sinkhornRoutines() []routine {
	list := []routine{{
		name:   "Affine",
		doc:    "y = factor * x + shift.",
		slices: singles("y", "x"), numbers: singles("factor", "shift"), unroll: 2, scratch: 2,
		work: func(b *builder) {
			b.load("x", b.r(0))
			b.Op("VMOVAPS", b.number("shift"), b.r(1))
			b.Op("VFMADD231PS", b.number("factor"), b.r(0), b.r(1))
			b.store(b.r(1), "y")
		},
	}, {
		name:   "Larger",
		doc:    "out = the larger of out and x.",
		slices: singles("out", "x"), unroll: 2, scratch: 2,
		work: func(b *builder) {
			b.load("out", b.r(0))
			b.load("x", b.r(1))
			b.Op("VMAXPS", b.r(1), b.r(0), b.r(0))
			b.store(b.r(0), "out")
		},
	}}
	for n := 2; n <= 4; n++ {
		list = append(list, routine{
			name:   fmt.Sprintf("SinkhornStart%d", n),
			doc:    fmt.Sprintf("x less the largest of its column, at least -80, for %d x %d matrices; see sinkhornTokens.", n, n),
			slices: singles("x"), unroll: 1, scratch: n + 2, constants: []string{"sinkhornLow"},
			work: func(b *builder) { b.whole(func() { b.sinkhornStart(n) }) },
		}, routine{
			name:   fmt.Sprintf("Sinkhorn%d", n),
			doc:    fmt.Sprintf("columns = x with its columns normalised and rows = columns with its rows normalised, for %d x %d matrices; see sinkhornTokens.", n, n),
			slices: singles("rows", "columns", "x"), unroll: 1, scratch: n + 2, constants: []string{"oneSingle"},
			work: func(b *builder) { b.whole(func() { b.sinkhorn(n) }) },
		}, routine{
			name:   fmt.Sprintf("SinkhornGradient%d", n),
			doc:    fmt.Sprintf("grad = grad - rows * (its sums of rows), then grad - columns * (its sums of columns), for %d x %d matrices; see sinkhornTokens.", n, n),
			slices: singles("grad", "rows", "columns"), unroll: 1, scratch: n + 2,
			work: func(b *builder) { b.whole(func() { b.sinkhornGradient(n) }) },
		})
	}
	return list
}

// whole runs work without a partial vector, which does not occur here.
func (b *builder) whole(work func()) {
	if !b.masked {
		work()
	}
}

// group lists n entries of a matrix that lie step apart: a column or a row.
func group(n, first, step int) (entries []int) {
	for i := range n {
		entries = append(entries, first+i*step)
	}
	return entries
}

// entry returns the address of the current vector of an entry.
func (b *builder) entry(name string, e int) string {
	for i, s := range b.slices {
		if s.name == name {
			return fmt.Sprintf("%d(%s)(AX*1)", e*sinkhornTokens*4, pointers[i])
		}
	}
	return "unknown slice " + name
}

// cells returns the registers of a group's entries: those that hold the matrix, otherwise working
// registers, into which the entries are loaded.
func (b *builder) cells(name string, entries []int) []string {
	var registers []string
	for k, e := range entries {
		if b.Masks {
			registers = append(registers, b.Vector(sinkhornFirst+e))
			continue
		}
		registers = append(registers, b.r(k))
		b.Op("VMOVUPS", b.entry(name, e), b.r(k))
	}
	return registers
}

// loadMatrix loads a matrix if there are registers for all of it (AVX-512).
func (b *builder) loadMatrix(name string, n int) {
	for e := 0; b.Masks && e < n*n; e++ {
		b.Op("VMOVUPS", b.entry(name, e), b.Vector(sinkhornFirst+e))
	}
}

// reduce combines registers with an instruction.
func (b *builder) reduce(name string, cells []string, to string) {
	b.Op(name, cells[1], cells[0], to)
	for _, c := range cells[2:] {
		b.Op(name, c, to, to)
	}
}

func (b *builder) sinkhornStart(n int) {
	b.loadMatrix("x", n)
	for j := range n {
		entries := group(n, j, n)
		cells, largest, low := b.cells("x", entries), b.r(n), b.r(n+1)
		b.reduce("VMAXPS", cells, largest)
		low = b.inRegister("sinkhornLow", low)
		for k, c := range cells {
			b.Op("VSUBPS", largest, c, c)
			b.Op("VMAXPS", c, low, c) // keeps a NaN
			b.Op("VMOVUPS", c, b.entry("x", entries[k]))
		}
	}
}

func (b *builder) sinkhorn(n int) {
	b.loadMatrix("x", n)
	for j := range n {
		b.normalizeGroup("columns", "x", group(n, j, n))
	}
	for i := range n {
		b.normalizeGroup("rows", "columns", group(n, i*n, 1))
	}
}

// normalizeGroup divides the entries by their sum.
func (b *builder) normalizeGroup(to, from string, entries []int) {
	n := len(entries)
	cells, sum, one := b.cells(from, entries), b.r(n), b.r(n+1)
	b.reduce("VADDPS", cells, sum)
	b.Op("VDIVPS", sum, b.inRegister("oneSingle", one), sum)
	for k, c := range cells {
		b.Op("VMULPS", sum, c, c)
		b.Op("VMOVUPS", c, b.entry(to, entries[k]))
	}
}

func (b *builder) sinkhornGradient(n int) {
	b.loadMatrix("grad", n)
	for i := range n {
		b.groupGradient("rows", group(n, i*n, 1), false)
	}
	for j := range n {
		b.groupGradient("columns", group(n, j, n), true)
	}
}

// groupGradient subtracts from each entry of grad the group's sum times y. If registers hold grad,
// it is stored only when last is true.
func (b *builder) groupGradient(y string, entries []int, last bool) {
	n := len(entries)
	cells, sum, other := b.cells("grad", entries), b.r(n), b.r(n+1)
	b.reduce("VADDPS", cells, sum)
	for k, c := range cells {
		b.Op("VMOVUPS", b.entry(y, entries[k]), other)
		b.Op("VFNMADD231PS", other, sum, c)
		if last || !b.Masks {
			b.Op("VMOVUPS", c, b.entry("grad", entries[k]))
		}
	}
}
