package create

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/clone"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

func newStream(args ...string) clitest.Outcome {
	return clitest.Call(Suite(models.Standard()).Commands[0], args...)
}

// TestNewStream: what is written is a module whose own tests, Residua's conformance suite, pass,
// and whose program knows the stream, in a folder with a space.
func TestNewStream(t *testing.T) {
	longtest.Skip(t)
	t.Run("vector", func(t *testing.T) {
		checkModule(t, "TestConformance/start_0.9", "A_res +learned", "blocks.*.attention.weights")
	})
	t.Run("rows", func(t *testing.T) {
		checkModule(t, "TestConformance/three_rows", "A_res +fixed", "blocks.*.attention.phi", "-rows")
	})
}

// checkModule checks a module made with the given arguments: that a test runs, and what models says
// of the stream and of its parameters.
func checkModule(t *testing.T, test, form, parameter string, args ...string) {
	dir := filepath.Join(t.TempDir(), "my streams", "slow")
	got := newStream(append([]string{"slow-decay", "-out", dir, "-source", "../.."}, args...)...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stdout, "go test .")
	run := func(args ...string) string {
		c := exec.Command("go", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	assert.Regexp(t, "(?m)^    --- PASS: "+test, run("test", "-v", "."))
	assert.Empty(t, run("vet", "."))
	out, err := exec.Command("gofmt", "-l", dir).CombinedOutput()
	require.NoError(t, err)
	assert.Empty(t, string(out))
	assert.Regexp(t, `(?m)^slow-decay +`+form, run("run", ".", "models", "-residuals"))
	assert.Contains(t, run("run", ".", "models", "-preset", "quickstart-slow-decay"), parameter)
}

// TestSource: Residua's source is found above the working directory, with the go.work that has to
// be switched off inside it.
func TestSource(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	assert.Equal(t, root, clone.Around("."))
	assert.Empty(t, clone.Around(t.TempDir()))
	c := call{Stream: "decay"}
	files, work, err := c.moduleFiles("decay")
	require.NoError(t, err)
	assert.True(t, work)
	assert.Contains(t, string(files["go.mod"]), "replace github.com/residua-go/residua => ../../..\n")
	_, work, err = c.moduleFiles(filepath.Join(t.TempDir(), "decay"))
	require.NoError(t, err)
	assert.False(t, work)
	c.Source = t.TempDir() // as git checks it out on Windows
	require.NoError(t, os.WriteFile(filepath.Join(c.Source, "go.mod"), []byte("module "+clone.Module+"\r\n\r\ngo 1.26.0\r\n"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(c.Source, "go.sum"), nil, 0o666))
	files, _, err = c.moduleFiles("decay")
	require.NoError(t, err)
	assert.Regexp(t, `^module decay\n\ngo 1\.26\.0\n\nrequire [^\r]*$`, string(files["go.mod"]))
}

// TestReleases: a program that is a release asks for that, one of a working tree for the source.
func TestReleases(t *testing.T) {
	for version, released := range map[string]bool{"v0.1.0": true, "(devel)": false, "v0.0.0-20261126133049-53f9c6778f03": false} {
		info := &debug.BuildInfo{Main: debug.Module{Path: clone.Module, Version: version}}
		got, is := release(info)
		assert.Equal(t, released, is, version)
		if released {
			assert.Equal(t, version, got)
		}
	}
}

func TestNewStreamRefuses(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		`NAME: want lower-case letters, digits and hyphens, such as slow-decay, got "Decay"`: {"Decay"},
		"NAME: Residua has a stream vector already":                                          {"vector"},
		"-out: want a folder that does not exist yet, got " + dir:                            {"decay", "-out", dir},
		"-source: want a folder with the go.mod of github.com/residua-go/residua":            {"decay", "-out", filepath.Join(dir, "x"), "-source", dir},
	} {
		newStream(args...).Refused(t, want)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
