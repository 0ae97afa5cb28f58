package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/residua-go/residua/internal/longtest"
)

// TestArchives: archives made at the same time from the same files have the same bytes; they
// contain no folders, and programs in them are executable.
func TestArchives(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "residua.exe")
	require.NoError(t, os.WriteFile(program, []byte("a program"), 0o600))
	stamp := time.Unix(1700000000, 0).UTC()
	for name, write := range map[string]func(string, []string, time.Time) error{"a.tar.gz": writeTar, "a.zip": writeZip} {
		var first []byte
		for range 2 {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, write(path, []string{program, "main.go"}, stamp))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if first != nil {
				require.Equal(t, first, text)
			}
			first = text
		}
	}
	archive := filepath.Join(dir, "a.zip")
	require.NoError(t, writeZip(archive, []string{program, "main.go"}, stamp))
	r, err := zip.OpenReader(archive)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, "residua.exe", r.File[0].Name)
	require.Equal(t, os.FileMode(0o755), r.File[0].Mode())
	require.Equal(t, os.FileMode(0o644), r.File[1].Mode())
	require.Error(t, writeTar(filepath.Join(dir, "b.tar.gz"), []string{"missing"}, stamp))
	require.NoFileExists(t, filepath.Join(dir, "b.tar.gz"))
}

// TestInstalled: go install of a released version works without go.work; with the tag cuda it fails
// with one line that says what to do.
func TestInstalled(t *testing.T) {
	longtest.Skip(t)
	const version = "v0.1.0"
	proxy := t.TempDir()
	at := filepath.Join(proxy, "github.com/residua-go/residua/@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	clone := filepath.Join(proxy, "clone")
	require.NoError(t, exec.Command("git", "clone", "-q", "../..", clone).Run())
	f, err := os.Create(filepath.Join(at, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, modzip.CreateFromVCS(f, module.Version{Path: "github.com/residua-go/residua", Version: version}, clone, "HEAD", ""))
	require.NoError(t, f.Close())
	mod, err := os.ReadFile("../../go.mod")
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

func TestTooOldWine(t *testing.T) {
	for version, want := range map[string]bool{"wine-8.0 (Debian 8.0~repack-4)": true, "wine-9.0": false, "wine-10.2": false, "qemu-aarch64 version 7.2.22": false, "": false} {
		require.Equal(t, want, tooOldWine(version), version)
	}
}
