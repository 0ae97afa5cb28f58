package asm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	folder := t.TempDir()
	files := Files{"one.s": []byte("text\n"), "two.s": []byte("more\n")}
	assert.Equal(t, []string{"one.s", "two.s"}, files.Stale(folder))
	require.NoError(t, files.Save(folder))
	assert.Empty(t, files.Stale(folder))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "one.s"), []byte("text\r\n"), 0o644))
	assert.Empty(t, files.Stale(folder))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "two.s"), []byte("less\n"), 0o644))
	assert.Equal(t, []string{"two.s"}, files.Stale(folder))
	assert.Error(t, files.Save(filepath.Join(folder, "none")))
}

func TestFunction(t *testing.T) {
	w := &Writer{ISA: AVX2}
	w.Function("avx2Sum(x *float32, n int) (sum float32)", 0, 20)
	w.Label("again")
	w.Load("(SI)", w.Vector(3), true)
	w.Reduce("VADDPS", w.Vector(3), "0")
	w.Return()
	assert.Equal(t, `
// func avx2Sum(x *float32, n int) (sum float32)
TEXT ·avx2Sum(SB), NOSPLIT, $0-20
again:
	VMASKMOVPS (SI), Y15, Y3
	VEXTRACTF128 $1, Y3, X0
	VADDPS X0, X3, X3
	VZEROUPPER
	RET
`, w.String())
}

func TestTable(t *testing.T) {
	var w Writer
	w.Table("steps", 4, []string{"0", "0x3f800000"})
	assert.Equal(t, "\nDATA steps<>+0(SB)/4, $0\nDATA steps<>+4(SB)/4, $0x3f800000\nGLOBL steps<>(SB), RODATA|NOPTR, $8\n", w.String())
}
