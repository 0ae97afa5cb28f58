package internal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/regular"
)

const pointerFile = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

func written(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// TestPointersAreNotOpened: the file that is opened is never a Git LFS pointer.
func TestPointersAreNotOpened(t *testing.T) {
	path := written(t, pointerFile)
	_, _, err := regular.Open(path)
	assert.EqualError(t, err, path+": it is a Git LFS pointer to the file that is wanted: run git lfs pull")
	_, err = regular.Read(path, 1000)
	assert.EqualError(t, err, path+": it is a Git LFS pointer to the file that is wanted: run git lfs pull")
	for _, content := range []string{"version 2", "", "version https://example.org"} {
		f, size, err := regular.Open(written(t, content))
		require.NoError(t, err)
		assert.EqualValues(t, len(content), size)
		text := make([]byte, size)
		_, err = f.Read(text)
		require.True(t, err == nil || content == "")
		assert.Equal(t, content, string(text), "from its start")
		require.NoError(t, f.Close())
	}
}

// TestReadText: other kinds of files are no text, and a byte order mark is none of it.
func TestReadText(t *testing.T) {
	for content, want := range map[string]string{
		"GGUF\x03\x00":                 "want text, but it is a GGUF file of llama.cpp's, which holds a whole model: name the file itself by -checkpoint",
		"PK\x03\x04\x14":               "want text, but it is a zip archive",
		"PK\x05\x06\x00":               "want text, but it is an empty zip archive",
		"\x1f\x8b\x08":                 "want text, but it looks compressed by gzip",
		"\x28\xb5\x2f\xfd\x00":         "want text, but it looks compressed by zstd",
		"BZh91AY&SY":                   "want text, but it looks compressed by bzip2",
		"\xfd7zXZ\x00\x00":             "want text, but it looks compressed by xz",
		"PAR1\x15":                     "want text, but it looks like Parquet",
		"more than the allowed length": "want a file of at most 20 bytes, got more",
	} {
		path := written(t, content)
		_, err := regular.Read(path, 20)
		require.ErrorContains(t, err, path+": "+want)
	}
	text, err := regular.Read(written(t, regular.ByteOrderMark+"text"), 20)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	assert.Empty(t, regular.Kind(nil))
	for _, text := range []string{"GGUF is a format", "PAR1 is a word", "BZh9", "PK"} {
		assert.Empty(t, regular.Kind([]byte(text)), "a text")
	}
}
