package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dotPairsLine matches a VDPBF16PS as dotPairs writes it.
var dotPairsLine = regexp.MustCompile(`LONG \$(0x[0-9a-f]{8}); WORD \$(0x[0-9a-f]{4}) // VDPBF16PS Z(\d+), Z(\d+), Z(\d+)\n`)

// TestDotPairsBytes decodes every VDPBF16PS in the assembly, field by field, and by llvm-mc if it
// is installed, and compares with the registers in its comment.
func TestDotPairsBytes(t *testing.T) {
	files, err := generate()
	require.NoError(t, err)
	text := string(files["bfloat16_avx512_amd64.s"])
	lines := dotPairsLine.FindAllStringSubmatch(text, -1)
	require.Len(t, lines, strings.Count(text, "VDPBF16PS"))
	require.NotEmpty(t, lines)
	var code bytes.Buffer
	var want []string
	for _, m := range lines {
		prefix, err := strconv.ParseUint(m[1], 0, 32)
		require.NoError(t, err)
		rest, err := strconv.ParseUint(m[2], 0, 16)
		require.NoError(t, err)
		b := []byte{byte(prefix), byte(prefix >> 8), byte(prefix >> 16), byte(prefix >> 24), byte(rest), byte(rest >> 8)}
		from, by, to := decodeDotPairs(t, b)
		assert.Equal(t, []string{m[3], m[4], m[5]}, []string{strconv.Itoa(from), strconv.Itoa(by), strconv.Itoa(to)}, m[0])
		for _, x := range b {
			fmt.Fprintf(&code, "0x%02x ", x)
		}
		code.WriteByte('\n')
		want = append(want, fmt.Sprintf("vdpbf16ps zmm%s, zmm%s, zmm%s", m[5], m[4], m[3]))
	}
	tool, err := exec.LookPath("llvm-mc")
	if err != nil {
		t.Log("no llvm-mc: decoded by this test alone")
		return
	}
	disassembler := exec.Command(tool, "--disassemble", "--triple=x86_64", "--mattr=+avx512bf16", "--output-asm-variant=1")
	disassembler.Stdin = &code
	out, err := disassembler.Output()
	require.NoError(t, err)
	var got []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 4 {
			got = append(got, strings.Join(fields, " "))
		}
	}
	assert.Equal(t, want, got)
}

// decodeDotPairs returns the registers of an EVEX.512.F3.0F38.W0 52 /r with three registers and no
// mask (Intel's manual, volume 2, section 2.7.1).
func decodeDotPairs(t *testing.T, b []byte) (from, by, to int) {
	bit := func(x byte, n int) int { return int(x>>n) & 1 }
	assert.EqualValues(t, 0x62, b[0], "EVEX")
	assert.EqualValues(t, 2, b[1]&0xf, "map 0F38")
	assert.EqualValues(t, 0, bit(b[2], 7), "W0")
	assert.EqualValues(t, 6, b[2]&7, "a fixed 1, and F3")
	assert.EqualValues(t, 0x40, b[3]&^8, "512 bits; no mask, no broadcast, nothing zeroed")
	assert.EqualValues(t, 0x52, b[4], "opcode")
	assert.EqualValues(t, 3, b[5]>>6, "registers alone")
	to = int(b[5]>>3&7) + 8*(1-bit(b[1], 7)) + 16*(1-bit(b[1], 4))
	from = int(b[5]&7) + 8*(1-bit(b[1], 5)) + 16*(1-bit(b[1], 6))
	by = int(^b[2]>>3&15) + 16*(1-bit(b[3], 3))
	return from, by, to
}
