package main

import (
	"fmt"
	"strings"
)

// The routines of Sinkhorn's iteration work on n x n matrices of many tokens at once: a slice
// holds, for each of the n*n entries, the values of sinkhornTokens tokens, so that no sum crosses
// the lanes of a vector. The slices passed belong to the first entry; the others follow in memory.
// There are only whole vectors: sinkhornTokens is a multiple of every vector's length, and equals
// package kernel's gatedTokens.
const sinkhornTokens = 32

// sinkhornFirst is the first of n*n registers that hold a matrix, if there are enough (not AVX2);
// working registers lie below it, constants far above.
const sinkhornFirst = 8

func sinkhornRoutines() []routine {
	list := []routine{{
		signature: "Affine(y, x []T, factor, shift T)",
		chooser:   "affine",
		doc:       "y = factor * x + shift.",
		unroll:    2, scratch: "x y",
		work: `
			load x, x
			VMOVAPS shift, y
			VFMADD231PS factor, x, y
			store y, y
		`,
	}, {
		signature: "Larger(out, x []T)",
		chooser:   "larger",
		doc:       "out = the larger of out and x.",
		unroll:    2, scratch: "out x",
		work: `
			load out, out
			load x, x
			VMAXPS x, out, out
			store out, out
		`,
	}}
	for n := 2; n <= 4; n++ {
		scratch, matrices := strings.Repeat("cell ", n)+"sum other", fmt.Sprintf("%d x %d matrices; see sinkhornTokens.", n, n)
		list = append(list, routine{
			signature: fmt.Sprintf("SinkhornStart%d(x []T)", n),
			doc:       "x less the largest of its column, at least -80, for " + matrices,
			unroll:    1, scratch: scratch, constants: "sinkhornLow",
			build: func(b *builder) { b.sinkhornStart(n) },
		}, routine{
			signature: fmt.Sprintf("Sinkhorn%d(rows, columns, x []T)", n),
			doc:       "columns = x with its columns normalised and rows = columns with its rows normalised, for " + matrices,
			unroll:    1, scratch: scratch, constants: "oneSingle",
			build: func(b *builder) { b.sinkhorn(n) },
		}, routine{
			signature: fmt.Sprintf("SinkhornGradient%d(grad, rows, columns []T)", n),
			doc:       "grad = grad - rows * (its sums of rows), then grad - columns * (its sums of columns), for " + matrices,
			unroll:    1, scratch: scratch,
			build: func(b *builder) { b.sinkhornGradient(n) },
		})
	}
	return list
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
	_, pointer, _ := b.slice(name)
	if b.NEON() {
		return fmt.Sprintf("%d(%s)", e*sinkhornTokens*4, pointer)
	}
	return fmt.Sprintf("%d(%s)(AX*1)", e*sinkhornTokens*4, pointer)
}

// cells returns the registers of a group's entries: those that hold the matrix, otherwise working
// registers, into which the entries are loaded.
func (b *builder) cells(name string, entries []int) []string {
	var registers []string
	for k, e := range entries {
		if b.holdsMatrix() {
			registers = append(registers, b.Vector(sinkhornFirst+e))
			continue
		}
		registers = append(registers, b.r(k))
		b.Load(b.entry(name, e), b.r(k), false)
	}
	return registers
}

// holdsMatrix tells whether there are registers for a whole matrix.
func (b *builder) holdsMatrix() bool { return b.Registers >= 32 }

// loadMatrix loads a matrix if there are registers for all of it (not AVX2).
func (b *builder) loadMatrix(name string, n int) {
	for e := 0; b.holdsMatrix() && e < n*n; e++ {
		b.Load(b.entry(name, e), b.Vector(sinkhornFirst+e), false)
	}
}

// reduce combines registers with an instruction.
func (b *builder) reduce(name string, cells []string, to string) {
	b.op(name, cells[1], cells[0], to)
	for _, c := range cells[2:] {
		b.op(name, c, to, to)
	}
}

func (b *builder) sinkhornStart(n int) {
	b.loadMatrix("x", n)
	for j := range n {
		entries := group(n, j, n)
		cells, largest := b.cells("x", entries), b.operand("sum")
		b.reduce("VMAXPS", cells, largest)
		low := b.operand("sinkhornLow@other")
		for k, c := range cells {
			b.op("VSUBPS", largest, c, c)
			b.op("VMAXPS", c, low, c) // keeps a NaN
			b.Store(c, b.entry("x", entries[k]), false)
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
	cells, sum := b.cells(from, entries), b.operand("sum")
	b.reduce("VADDPS", cells, sum)
	b.run("VDIVPS sum, oneSingle@other, sum")
	for k, c := range cells {
		b.op("VMULPS", sum, c, c)
		b.Store(c, b.entry(to, entries[k]), false)
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
	cells, sum, other := b.cells("grad", entries), b.operand("sum"), b.operand("other")
	b.reduce("VADDPS", cells, sum)
	for k, c := range cells {
		b.Load(b.entry(y, entries[k]), other, false)
		b.op("VFNMADD231PS", other, sum, c)
		if last || !b.holdsMatrix() {
			b.Store(c, b.entry("grad", entries[k]), false)
		}
	}
}
