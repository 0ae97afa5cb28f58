package main

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bytesOf returns the bytes of a line that asWords has written.
func bytesOf(t *testing.T, line string) []byte {
	var code []byte
	for _, m := range regexp.MustCompile(`(LONG|BYTE) \$0x([0-9a-f]+)`).FindAllStringSubmatch(line, -1) {
		b, err := hex.DecodeString(m[2])
		require.NoError(t, err)
		for i := len(b) - 1; i >= 0; i-- {
			code = append(code, b[i])
		}
	}
	return code
}

// TestTileInstructions compares encodings with those of the GNU assembler 2.40, and has the
// machine's own assembler, where it knows AMX, decode them.
func TestTileInstructions(t *testing.T) {
	var all []byte
	var want []string
	for _, c := range []struct{ line, want, decoded string }{
		{loadTileConfig("AX"), "c4e2784900", "ldtilecfg (%rax)"},
		{releaseTiles(), "c4e27849c0", "tilerelease"},
		{clearTile(3), "c4e27b49d8", "tilezero %tmm3"},
		{loadTile(3, "DI", "R13", 64), "c4a27b4b9c2f40000000", "tileloadd 0x40(%rdi,%r13,1),%tmm3"},
		{loadTile(2, "R9", "R11", 0), "c4827b4b941900000000", "tileloadd 0x0(%r9,%r11,1),%tmm2"},
		{storeTile(1, "DX", "BX", 64), "c4e27a4b8c1a40000000", "tilestored %tmm1,0x40(%rdx,%rbx,1)"},
		{multiplyTiles(3, 2, 1), "c4e2625cca", "tdpbf16ps %tmm3,%tmm2,%tmm1"},
		{roundTwo("DI", 0, 0), "62f27f487207", "vcvtne2ps2bf16 (%rdi),%zmm0,%zmm0"},
		{roundTwo("SI", 1, 2), "62f277487216", "vcvtne2ps2bf16 (%rsi),%zmm1,%zmm2"},
		{roundPair(0, 1, 0), "62f2774872c0", "vcvtne2ps2bf16 %zmm0,%zmm1,%zmm0"},
	} {
		code := bytesOf(t, c.line)
		assert.Equal(t, c.want, hex.EncodeToString(code), c.decoded)
		all, want = append(all, code...), append(want, c.decoded)
	}
	tool, err := exec.LookPath("objdump")
	if err != nil {
		t.Log("no objdump: compared with the table alone")
		return
	}
	file := filepath.Join(t.TempDir(), "code")
	require.NoError(t, os.WriteFile(file, all, 0o600))
	said, err := exec.Command(tool, "-D", "-b", "binary", "-m", "i386:x86-64", "--insn-width=12", file).Output()
	require.NoError(t, err)
	if !bytes.Contains(said, []byte("ldtilecfg")) {
		t.Log("this objdump knows no AMX: compared with the table alone")
		return
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^ +[0-9a-f]+:\t[0-9a-f ]+\t(.+)$`).FindAllStringSubmatch(string(said), -1) {
		got = append(got, strings.Join(strings.Fields(m[1]), " "))
	}
	assert.Equal(t, want, got)
}
