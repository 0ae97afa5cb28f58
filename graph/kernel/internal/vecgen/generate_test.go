package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// folder has the formulas.
const folder = "../formula"

// allRoutines lists the routines, with those of formulas.
func allRoutines(t *testing.T) []*parsed {
	formulas, err := readFormulas(folder)
	require.NoError(t, err)
	return routines(formulas)
}

// TestGeneratedFilesAreCurrent checks that the committed files are what the generator writes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate(folder)
	require.NoError(t, err)
	require.Len(t, files, 7+len(isas))
	assert.Empty(t, files.Stale("../.."), "out of date: run go generate ./graph/kernel")
}

// TestRegisters checks that no routine uses a register for two things, and that registers named by
// their lower halves, in sums and narrow stores, are among the 16 that have such names without
// AVX-512VL.
func TestRegisters(t *testing.T) {
	for _, s := range isas {
		for _, r := range allRoutines(t) {
			low := r.unroll * (len(r.scratchNames) + len(r.keptNames))
			held := len(r.numbers)
			switch {
			case s.NEON():
				held += 2 // the free register, and that of constants for which none is left
			case s.Masks:
				held += len(r.constantNames)
			default:
				held += 2 // the masks
			}
			if !s.NEON() {
				assert.LessOrEqual(t, low, 16, "%s%s", s.Name, r.name)
			}
			assert.LessOrEqual(t, low+held, s.Registers, "%s%s", s.Name, r.name)
			assert.LessOrEqual(t, len(r.slices), len(pointers), r.name)
			assert.LessOrEqual(t, len(r.slices), len(neonPointers), r.name)
		}
	}
}

// TestConstants checks that every routine lists the constants that it uses, and that every file
// holds them.
func TestConstants(t *testing.T) {
	for _, s := range isas {
		text := string(assembly(s, allRoutines(t)))
		for _, line := range strings.Split(text, "\n") {
			if i := strings.Index(line, "<>(SB)"); i >= 0 && strings.HasPrefix(line, "\t") {
				name := strings.TrimPrefix(line[strings.LastIndexAny(line[:i], " \t")+1:i], "$")
				assert.Contains(t, text, "GLOBL "+name+"<>(SB)", "%s uses %s", s.Name, name)
			}
		}
	}
}

// TestExp2Polynomial measures the error of exp2's polynomial.
func TestExp2Polynomial(t *testing.T) {
	var worst float64
	for f := -0.5; f <= 0.5; f += 1.0 / 4096 {
		p := 0.0
		for _, c := range []string{"exp2c7", "exp2c6", "exp2c5", "exp2c4", "exp2c3", "exp2c2", "exp2c1", "one"} {
			p = p*f + doubles[c]
		}
		worst = max(worst, math.Abs(p/math.Exp2(f)-1))
	}
	assert.Less(t, worst, 1e-10)
}
