package zoo

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFiles: each model of the list has a file with its checksum, and a card; each file of the
// folder is in the list.
func TestFiles(t *testing.T) {
	z := Standard()
	files, err := filepath.Glob("weights/*" + extension)
	require.NoError(t, err)
	require.Len(t, files, len(z.Names()))
	for _, name := range z.Names() {
		path, err := z.File(name)
		require.NoError(t, err)
		want, err := filepath.Abs(filepath.Join("weights", name+extension))
		require.NoError(t, err)
		assert.Equal(t, want, path)
		assert.FileExists(t, name+".md")
	}
}

// served returns a zoo with one model, whose release is a server that answers with content.
func served(t *testing.T, content string, status int) (Zoo, *int) {
	calls := new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*calls++
		assert.Equal(t, "/small.safetensors", r.URL.Path)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(content))
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256([]byte("a model"))
	return Zoo{checksums: hex.EncodeToString(sum[:]) + "  small.safetensors\n", cache: filepath.Join(t.TempDir(), "cache"), release: server.URL}, calls
}

// TestDownload: a file that is nowhere is downloaded once and then found in the cache, where its
// checksum is checked again.
func TestDownload(t *testing.T) {
	z, calls := served(t, "a model", http.StatusOK)
	for range 2 {
		path, err := z.File("small")
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "a model", string(text))
	}
	assert.Equal(t, 1, *calls)
	require.NoError(t, os.WriteFile(filepath.Join(z.cache, "small.safetensors"), []byte("torn"), 0o600))
	_, err := z.File("small")
	assert.ErrorContains(t, err, "want the SHA-256 checksum")
}

// TestDownloadFails: other content, a status that is not OK, and a missing network are errors, and
// leave no file.
func TestDownloadFails(t *testing.T) {
	other, _ := served(t, "another model", http.StatusOK)
	missing, _ := served(t, "a model", http.StatusNotFound)
	offline := other
	offline.release = "http://127.0.0.1:1"
	for want, z := range map[string]Zoo{"want the SHA-256 checksum": other, "404 Not Found": missing, "refused": offline} {
		_, err := z.File("small")
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "zoo:small: the file is neither in a clone")
		left, err := os.ReadDir(z.cache)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// TestUnknown: the error for an unknown name lists the known ones.
func TestUnknown(t *testing.T) {
	z, calls := served(t, "", http.StatusOK)
	_, err := z.File("smal")
	assert.EqualError(t, err, "zoo:smal: want one of small; did you mean small?")
	assert.Zero(t, *calls)
}

// TestFilesOfAModule: a module whose go.mod replaces Residua by a clone, as new stream writes one,
// has the clone's models.
func TestFilesOfAModule(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	mod := "module decay\n\nreplace github.com/residua-go/residua => \"" + filepath.Dir(here) + "\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o666))
	t.Chdir(dir)
	path, err := Standard().File("rmt")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(here, "weights", "rmt.safetensors"), path)
}
