package pretrained_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/fuzztest"
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
	refused(changed(8, 1<<60), "truncated")  // more tensors than there are
	refused(changed(16, 1<<60), "truncated") // entries
	refused(changed(24, 1<<60), "truncated") // the length of a key
	c := append([]byte(nil), whole...)
	c[4] = 9
	refused(c, "want version 2 or 3 of GGUF, got 9")
	refused(bytes.ReplaceAll(whole, []byte("llama"), []byte("lhama")), `general.architecture: want one of [gpt2 llama qwen3 qwen2 gptneox gemma2 gemma3 olmo2 smollm3 granite phi3], got "lhama"`)
}

// TestTokenizersOfGGUFModels: a model that is exported as GGUF with a tokenizer reads texts as
// before, and so does what that is exported to, with the ids that begin and end texts.
func TestTokenizersOfGGUFModels(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "testdata", "tokenizers", "neox", "expected.json"))
	require.NoError(t, err)
	var cases [][]any
	require.NoError(t, json.Unmarshal(content, &cases))
	for name, folder := range splitters() {
		c := ours()["llama"]
		c.Vocab = 1003 // some ids have no token
		m := made(t, c, folder)
		pad := int32(1001)
		m.Special.Pad = &pad
		gguf, again, renamed := filepath.Join(t.TempDir(), "model.gguf"), filepath.Join(t.TempDir(), "again.gguf"), filepath.Join(t.TempDir(), "model.bin")
		require.NoError(t, exportAs(m, "gguf", gguf, pretrained.ExportOptions{}))
		back := open(t, gguf)
		require.NoError(t, exportAs(back, "gguf", again, pretrained.ExportOptions{}))
		_, hf := exported(t, back)
		for _, other := range []*pretrained.Model{back, open(t, again), hf} {
			require.Empty(t, other.Source.Warnings, name)
			own, err := m.Tokenizer()
			require.NoError(t, err)
			theirs, err := other.Tokenizer()
			require.NoError(t, err)
			require.Equal(t, []any{own.BOS(), data.EOS(own), data.AddsBOS(own)}, []any{theirs.BOS(), data.EOS(theirs), data.AddsBOS(theirs)}, name)
			require.Equal(t, m.Special, other.Special)
			for _, c := range cases {
				want := own.Encode(nil, c[0].(string))
				require.Equal(t, want, theirs.Encode(nil, c[0].(string)), "%s: %q", name, c[0])
				require.Equal(t, own.Decode(want), theirs.Decode(want), name)
			}
		}
		require.NoError(t, os.Rename(again, renamed))
		unread := open(t, renamed)
		require.Contains(t, unread.Source.Warnings[0], "data.tokenizer: want one of bytes, gpt2 or the path of a tokenizer.json, got")
		require.NotNil(t, unread.Special.BOS)
	}
}

// TestBadGGUFModels: in the files of every class a tensor that is missing or has another shape is
// named, and sizes in the metadata that the tensors have not are refused without memory for them.
func TestBadGGUFModels(t *testing.T) {
	for name, m := range peoplesInGGUF(t) {
		path := filepath.Join(t.TempDir(), "model.gguf")
		require.NoError(t, exportAs(m, "gguf", path, pretrained.ExportOptions{}))
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		refused := func(content []byte, want string) {
			t.Helper()
			require.NoError(t, os.WriteFile(path, content, 0o600))
			fuzztest.Bounded(t, len(content), func() {
				_, err := pretrained.Open(path)
				require.ErrorContains(t, err, want, name)
				fuzztest.OneLine(t, err)
			})
		}
		refused(bytes.ReplaceAll(whole, []byte("blk.1.ffn_down.weight"), []byte("blk.1.ffn_xxxx.weight")), `tensor "blk.1.ffn_down.weight": want it for the model of the metadata, the file has none`)
		arch := parseGGUF(t, path0(t, whole)).metadata["general.architecture"].(string)
		for _, key := range []string{"feed_forward_length", "block_count", "embedding_length", "attention.head_count", "attention.head_count_kv", "attention.key_length", "context_length", "rope.dimension_count"} {
			at := bytes.Index(whole, []byte(arch+"."+key))
			if at < 0 {
				continue // GPT-NeoX has no size of heads
			}
			for _, n := range []uint32{1, 1 << 16, 1<<31 - 1, 1<<32 - 1} {
				content := bytes.Clone(whole)
				binary.LittleEndian.PutUint32(content[at+len(arch)+1+len(key)+4:], n)
				if key == "feed_forward_length" && n == 1 {
					refused(content, "want shape ")
					continue
				}
				require.NoError(t, os.WriteFile(path, content, 0o600))
				fuzztest.Bounded(t, len(content), func() {
					_, err := pretrained.Open(path)
					fuzztest.OneLine(t, err)
					if key != "context_length" && key != "rope.dimension_count" && n > 1 {
						require.Error(t, err, "%s: %s", name, key)
					}
				})
			}
		}
	}
}

// path0 writes a file and returns its path.
func path0(t *testing.T, content []byte) string {
	path := filepath.Join(t.TempDir(), "whole.gguf")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}
