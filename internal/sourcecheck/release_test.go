package sourcecheck

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	gomod "golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/residua-go/residua/internal/longtest"
)

// TestArchives: a commit's archive has the same bytes each time; it contains no folders, and the
// program in it is executable.
func TestArchives(t *testing.T) {
	atRoot(t)
	if !longtest.Exhaustive() || runtime.GOOS != "linux" {
		t.Skip("builds a program twice, in minutes, with Linux's tools")
	}
	clone := filepath.Join(t.TempDir(), "clone")
	require.NoError(t, exec.Command("git", "clone", "-q", ".", clone).Run())
	var archives [2][]byte
	for i := range archives {
		build := exec.Command("make", "release", "ONLY=linux_"+runtime.GOARCH)
		build.Dir = clone
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
		found, err := filepath.Glob(filepath.Join(clone, "dist", "*.tar.gz"))
		require.NoError(t, err)
		require.Len(t, found, 1)
		archives[i], err = os.ReadFile(found[0])
		require.NoError(t, err)
	}
	require.Equal(t, archives[0], archives[1])
	unzipped, err := gzip.NewReader(bytes.NewReader(archives[0]))
	require.NoError(t, err)
	names, r := map[string]int64{}, tar.NewReader(unzipped)
	for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
		require.NoError(t, err)
		names[h.Name] = h.Mode
		if h.Name == "NOTICE" {
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Contains(t, string(text), "\n[1] ====", "NOTICE without the licences' texts")
		}
	}
	require.Equal(t, map[string]int64{"residua": 0o755, "LICENSE": 0o644, "NOTICE": 0o644, "README.md": 0o644}, names)
}

// TestInstalled: go install of a released version works without go.work; with the tag cuda it fails
// with one line that says what to do.
func TestInstalled(t *testing.T) {
	atRoot(t)
	longtest.Skip(t)
	const version = "v0.1.0"
	proxy := t.TempDir()
	at := filepath.Join(proxy, "github.com/residua-go/residua/@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	clone := filepath.Join(proxy, "clone")
	require.NoError(t, exec.Command("git", "clone", "-q", ".", clone).Run())
	f, err := os.Create(filepath.Join(at, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, modzip.CreateFromVCS(f, gomod.Version{Path: "github.com/residua-go/residua", Version: version}, clone, "HEAD", ""))
	require.NoError(t, f.Close())
	mod, err := os.ReadFile("./go.mod")
	require.NoError(t, err)
	for name, text := range map[string]string{version + ".mod": string(mod), version + ".info": `{"Version":"` + version + `"}`, "list": version + "\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o644))
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	plan := "-n=true" // loads all packages and plans the build; with RESIDUA_LONG_TESTS=all it is made, in minutes
	if longtest.Exhaustive() {
		plan = "-n=false"
	}
	install := func(tags string) (string, error) {
		c := exec.Command("go", "install", plan, "-tags="+tags, "github.com/residua-go/residua/cmd/residua@"+version)
		c.Dir = t.TempDir()
		c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GOBIN="+proxy, "GOMODCACHE="+filepath.Join(proxy, "modules"),
			"GOPROXY=file://"+proxy+",file://"+filepath.Join(string(bytes.TrimSpace(cache)), "cache/download"))
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := install("")
	require.NoError(t, err, out)
	if longtest.Exhaustive() {
		said, err := exec.Command(filepath.Join(proxy, "residua"), "version").Output()
		require.NoError(t, err)
		require.Contains(t, string(said), "residua "+version+", go1.")
	}

	out, err = install("cuda")
	require.Error(t, err)
	require.Contains(t, out, "clone_cuda.go:7:12: pattern vendor/only_in_a_clone/see_docs_cuda.md: no matching files found")
	require.NotContains(t, out, "cuda.h")
}
