package main

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGeneratedFilesAreCurrent checks that the committed files are what the generator writes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate()
	require.NoError(t, err)
	require.Len(t, files, 2+3*len(isas))
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
