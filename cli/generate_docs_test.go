//go:build !windows

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline/clitest"
)

// TestGenerateDocs runs each block of commands of docs/generate.md in a shell, whose go is the
// test's program, and compares what it writes with the block of output after it, where there
// is one, numbers up to their last digit: processors round in ways of their own.
func TestGenerateDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/generate.md")
	require.NoError(t, err)
	bin := t.TempDir()
	program := clitest.Program(t, "generate")
	shim := "#!/bin/sh\n[ \"$1 $2 $3\" = 'run ./cmd/residua generate' ] || exit 9\nshift 3\nexec '" + program.Path + "' \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(shim), 0o755))
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:\n```\n(.*?)```\n)?").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(blocks), 5)
	for _, block := range blocks {
		commands, want := block[1], block[2]
		shell := exec.Command("bash", "-e", "-c", strings.ReplaceAll(commands, "/tmp/", bin+"/"))
		shell.Dir = ".."
		shell.Env = append(program.Env, "PATH="+bin+":"+os.Getenv("PATH"))
		var errors strings.Builder
		shell.Stderr = &errors
		got, err := shell.Output()
		require.NoError(t, err, "%s%s", commands, errors.String())
		assert.NotEmpty(t, got, commands)
		if want != "" {
			clitest.AssertSame(t, want, string(got))
		}
	}
}

// TestGenerateDocsShowTheExample: the page shows the Go code of the tested example.
func TestGenerateDocsShowTheExample(t *testing.T) {
	page, err := os.ReadFile("../docs/generate.md")
	require.NoError(t, err)
	example, err := os.ReadFile("../pretrained/example_generate_test.go")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, found := strings.Cut(code, "```")
	require.True(t, found)
	assert.Contains(t, strings.ReplaceAll(string(example), "\n\t", "\n"), code)
}
