package pretrained_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/pretrained"
)

// TestImportGGUF: what is exported as GGUF is read back as the same model, bit for bit; exported
// again as the type to which it was rounded, it has the same numbers.
func TestImportGGUF(t *testing.T) {
	all := inGGUF(t)
	maps.Copy(all, peoplesInGGUF(t))
	for name, m := range all {
		path := filepath.Join(t.TempDir(), "model.gguf")
		require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{IDsAlone: true}), name)
		back := open(t, path)
		for _, p := range back.Store.Params() { // GPT-2's biases are written as zeros
			if own := m.Store.Param(p.Name); own != nil {
				require.Equal(t, own.Value.Float32s(), p.Value.Float32s(), "%s: %s", name, p.Name)
			}
		}
		if m.Data.Tokenizer == "" {
			require.Len(t, back.Source.Warnings, 1)
		} else {
			require.Empty(t, back.Source.Warnings)
		}
		require.Equal(t, m.Data.Tokenizer, back.Data.Tokenizer, name)
		require.NoError(t, back.Spec.SameModel(m.Spec), name)
		for _, kind := range []string{"f16", "bf16", "q8_0"} {
			require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{IDsAlone: true, Type: kind}))
			rounded := open(t, path)
			again := filepath.Join(t.TempDir(), "again.gguf")
			require.NoError(t, exportAs(rounded, "gguf", again, pretrained.ExportOptions{IDsAlone: true, Type: kind}))
			requireSame(t, rounded, open(t, again), name+" "+kind)
		}
	}
}

// TestImportGGUFRefuses: damaged files are refused in one line.
func TestImportGGUFRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, exportAs(inGGUF(t)["llama"], "gguf", path, pretrained.ExportOptions{}))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	write := func(content []byte) string {
		path := filepath.Join(t.TempDir(), "x.gguf")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	refused := func(content []byte, want string) {
		t.Helper()
		_, err := pretrained.Open(write(content))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
	for _, n := range []int{5, 20, 40, 500, len(whole) / 2, len(whole) - 100} {
		refused(whole[:n], "truncated")
	}
	changed := func(at int, n uint64) []byte {
		c := append([]byte(nil), whole...)
		binary.LittleEndian.PutUint64(c[at:], n)
		return c
	}
	refused(changed(8, 1<<60), "want at most 4 axes") // more tensors than there are
	refused(changed(16, 1<<60), "truncated")          // entries
	refused(changed(24, 1<<60), "truncated")          // the length of a key
	c := append([]byte(nil), whole...)
	c[4] = 9
	refused(c, "want version 2 or 3 of GGUF, got 9")
	refused(bytes.ReplaceAll(whole, []byte("llama"), []byte("lhama")), `general.architecture: want one of [gpt2 llama qwen3 qwen2 gptneox gemma2 gemma3 olmo2 smollm3 granite phi3], got "lhama"`)
}
