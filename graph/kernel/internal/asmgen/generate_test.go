package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// TestGeneratedFilesAreCurrent checks that the committed files are what the generator writes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate()
	require.NoError(t, err)
	require.Len(t, files, len(assemblyFiles())+3)
	assert.Empty(t, files.Stale("../.."), "out of date: run go generate ./graph/kernel")
}

// TestRegisters checks that no micro-kernel uses a register for two things at a time.
func TestRegisters(t *testing.T) {
	for _, s := range isas {
		for _, k := range slices.Concat(s.kernels(), s.tiles(s.pairRows, true), s.splitTiles()) {
			used := map[string]bool{}
			claim := func(register string) {
				assert.False(t, used[register], "%s: %s twice", k.name(), register)
				used[register] = true
			}
			for r := range k.rows {
				for v := range k.vecs {
					claim(k.acc(r, v))
				}
			}
			for v := range k.vecs {
				claim(k.b(v))
			}
			if k.masked {
				claim(k.Mask())
			}
			if k.splits() {
				for v := range k.vecs {
					claim(k.bOdd(v))
				}
				claim(k.upper())
				assert.NotEqual(t, k.aEven(), k.aOdd(), k.name())
				assert.False(t, used[k.aEven()] || used[k.aOdd()], "%s: A", k.name())
				continue
			}
			for r := range k.rows {
				assert.False(t, used[k.free(r)], "%s: A in %s", k.name(), k.free(r))
			}
			assert.LessOrEqual(t, len(used), s.Registers-1, k.name())
			assert.LessOrEqual(t, k.groups(), len(regA), k.name())
		}
		for _, d := range s.dots() {
			checkDot(t, d)
		}
		for _, k := range s.combines() { // accumulators and B's vectors, one coefficient, the mask
			need := (k.rows+1)*k.vecs() + 1
			if !k.Masks {
				need++
			}
			assert.LessOrEqual(t, need, k.Registers, k.name())
		}
		for _, k := range s.gemvs() { // a square, registers for transposing it, the sums
			assert.LessOrEqual(t, k.Lanes+4+k.vectors, k.Registers, k.name())
			assert.Less(t, k.vectors, 5, k.name()) // registers of rows that are free after the transpose
		}
		for _, k := range s.axpys() { // the multiples, two vectors of y, one of a row, the mask
			assert.LessOrEqual(t, k.rows+4, k.Registers, k.name())
		}
		for _, k := range s.sumProducts() { // the sum, vectors of a, one of b, the mask
			assert.LessOrEqual(t, 2*sumProductsVectors+2, k.Registers, k.name())
		}
	}
}

// checkDot checks that accumulators, operands, mask and the registers of the final sums do not
// overlap, and that registers written as their lower halves have numbers below 16.
func checkDot(t *testing.T, d dot) {
	used := map[string]bool{}
	claim := func(register string) {
		assert.False(t, used[register], "%s: %s twice", d.name(), register)
		used[register] = true
	}
	for r := range d.rows {
		for c := range d.cols {
			claim(d.acc(r, c))
		}
		claim(d.a(r))
		low, err := strconv.Atoi(d.lower(r))
		require.NoError(t, err)
		assert.Less(t, low, 16, d.name())
	}
	assert.LessOrEqual(t, d.rows*d.cols, 16, d.name())
	claim(d.b())
	for i := range 3 {
		claim(d.spare(i))
	}
	if !d.Masks {
		claim(d.Mask())
	}
	assert.LessOrEqual(t, len(used), d.Registers, d.name())
}

// neonAll lists NEON's tiles.
func neonAll() []neonTile {
	return slices.Concat(neonTiles(neonMaxRows, ""), neonTiles(neonSplitRows, neonSplit), neonTiles(neonWideRows, neonWide))
}

// TestNEONRegisters checks that no tile uses a register for two things, and that BFMLALB reads A
// from the first 16.
func TestNEONRegisters(t *testing.T) {
	for _, k := range neonAll() {
		n := k.as() + k.rows*k.vecs + min(2, k.vecs)
		if k.pairs == neonSplit {
			n = k.as() + k.rows*k.vecs + 5 // the odd elements of B, the mask
		}
		assert.LessOrEqual(t, n, asm.NEON.Registers, k.signature())
		if k.pairs == neonWide {
			assert.LessOrEqual(t, k.as(), 16, k.signature())
		}
	}
	for _, k := range neonCombines() {
		assert.LessOrEqual(t, (k.rows+1)*k.vecs()+1, asm.NEON.Registers, k.signature())
	}
}

// TestNEONShareOfProducts: of the instructions in the inner loop of the largest tiles for float32
// at least three quarters are fused multiply-adds, into at least 16 independent sums. A processor
// with four units for vectors that starts eight instructions in a cycle, as Apple's do, is then
// limited by those units.
func TestNEONShareOfProducts(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		k := neonTile{rows: neonMaxRows[4], vecs: 4, transposed: transposed}
		w := &asm.Writer{ISA: asm.NEON}
		k.emit(w)
		_, loop, _ := strings.Cut(w.String(), "group:\n")
		loop, _, _ = strings.Cut(loop, "few:\n")
		all, products := strings.Count(loop, "\n"), strings.Count(loop, "FMLALANE")
		t.Logf("%s: %d of %d instructions, %.3f", k.signature(), products, all, float64(products)/float64(all))
		assert.GreaterOrEqual(t, float64(products), 0.75*float64(all), k.signature())
		sums := map[string]bool{}
		for line := range strings.Lines(loop) {
			if strings.Contains(line, "FMLALANE") {
				sums[line[strings.LastIndexByte(line, ' ')+1:]] = true
			}
		}
		assert.GreaterOrEqual(t, len(sums), 16, k.signature())
	}
}
