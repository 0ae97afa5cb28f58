package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// TestNEONThroughput asks llvm-mca how many of Neoverse V2's four vector units the inner loops of
// products keep busy with fused multiply-adds: at least 85% in the loops of tiles, sums of products
// and combinations. The others are limited by memory. Of the instructions of tiles and sums of
// products at least 75% are fused multiply-adds, since processors that begin as many instructions
// of any kind as they have vector units are limited by that.
func TestNEONThroughput(t *testing.T) {
	if !longtest.Exhaustive() {
		t.Skip("builds the kernels for arm64: make mca")
	}
	for _, tool := range []string{"llvm-mca-19", "llvm-objdump-19"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no " + tool)
		}
	}
	binary := filepath.Join(t.TempDir(), "kernel.arm64")
	build := exec.Command("go", "test", "-c", "-o", binary, "github.com/residua-go/residua/graph/kernel")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	t.Log("loop, products, instructions, share, cycles, share of the vector units")
	least := map[string]float64{
		"neonn6x4": 0.85, "neont6x4": 0.85, "neonn6x3": 0.85, "neonn8x2": 0.85, "neont8x2": 0.85, "neonn8x1": 0.85, "neondot4x4": 0.85, "neoncombine8": 0.85,
		"neonWiden6x4": 0, "neonSplitn4x4": 0, "neonGemv4": 0, "neonAxpy8": 0, "neonSumProducts": 0, "neonMultiply16": 0,
	}
	for _, name := range slices.Sorted(maps.Keys(least)) {
		loop := innerLoop(t, binary, name)
		products := strings.Count(loop, "fmla") + strings.Count(loop, "bfmlal")
		const turns = 200
		run := exec.Command("llvm-mca-19", "-mtriple=aarch64", "-mcpu=neoverse-v2", fmt.Sprintf("-iterations=%d", turns))
		run.Stdin = strings.NewReader(loop)
		said, err := run.Output()
		require.NoError(t, err, name)
		total, err := strconv.ParseFloat(string(regexp.MustCompile(`Total Cycles: +(\d+)`).FindSubmatch(said)[1]), 64)
		require.NoError(t, err)
		instructions, busy := strings.Count(loop, "\n")-1, float64(products*turns)/4/total
		share := float64(products) / float64(instructions)
		t.Logf("%-16s %3d %4d %.3f %6.2f %.3f", name, products, instructions, share, total/turns, busy)
		if least[name] > 0 && name != "neoncombine8" {
			assert.GreaterOrEqual(t, share, 0.75, name)
		}
		assert.GreaterOrEqual(t, busy, least[name], name)
	}
}

var (
	objdumpLine = regexp.MustCompile(`(?m)^ *([0-9a-f]+):\s+(.*)$`)
	backward    = regexp.MustCompile(`^(b\.\w+|cbnz\s+\w+,)\s+0x([0-9a-f]+)`)
)

// innerLoop returns, as llvm-mca reads it, the innermost loop with the most products of a routine.
func innerLoop(t *testing.T, binary, name string) (best string) {
	text, err := exec.Command("llvm-objdump-19", "-d", "--no-show-raw-insn", "--mattr=+bf16", "--disassemble-symbols=github.com/residua-go/residua/graph/kernel."+name+".abi0", binary).Output()
	require.NoError(t, err)
	at := map[string]int{}
	var lines []string
	last := 0
	for _, m := range objdumpLine.FindAllStringSubmatch(string(text), -1) {
		at[m[1]] = len(lines)
		line, _, _ := strings.Cut(m[2], "<")
		lines = append(lines, strings.TrimSpace(line))
		jump := backward.FindStringSubmatch(line)
		if jump == nil {
			continue
		}
		first, ok := at[jump[2]]
		if !ok || first < last { // forward, or around another loop
			continue
		}
		last = len(lines)
		loop := "again:\n" + strings.Join(lines[first:len(lines)-1], "\n") + "\n" + jump[1] + " again\n"
		if strings.Count(loop, "mla") > strings.Count(best, "mla") {
			best = loop
		}
	}
	require.NotEmpty(t, best, name)
	return best
}
