package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// codeBlock is a block of code of a page.
var codeBlock = regexp.MustCompile("(?s)```(sh|python)\n(.*?)```")

// TestConvertPage runs the commands of docs/convert.md as they stand there, in order, on runs of
// the names that it has; and its Python where there is one with transformers.
func TestConvertPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "convert.md"))
	require.NoError(t, err)
	quickstart := clitest.Train(t)
	modern := clitest.Train(t, "model.stream={kind: vector, d_model: 16}", "model.attention={heads: 2, positions: rope, qk_norm: true}",
		"model.feedforward={kind: swiglu, hidden: 24}", "model.norm=rmsnorm")
	theirs := clitest.Train(t, "model.norm=rmsnorm", "model.attention.inverse_layer_scaling=true", "data.mask_documents=true")
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("runs", 0o777))
	for name, run := range map[string]clitest.Run{"quickstart": quickstart, "modern": modern, "theirs": theirs} {
		require.NoError(t, os.Rename(run.Dir, filepath.Join("runs", name)))
	}

	folders, err := filepath.Glob(filepath.Join("runs", "quickstart", "checkpoints", "step-*"))
	require.NoError(t, err)
	var steps []string // of the checkpoints that the page averages
	for _, folder := range folders[max(0, len(folders)-2):] {
		steps = append(steps, strings.TrimLeft(strings.TrimPrefix(filepath.Base(folder), "step-"), "0"))
	}
	python, commands := transformers(), 0
	for _, b := range codeBlock.FindAllStringSubmatch(string(text), -1) {
		if b[1] == "python" {
			if python != "" {
				runPython(t, python, strings.Replace(b[2], "(1500, 2000)", "("+strings.Join(steps, ", ")+")", 1))
			}
			continue
		}
		for line := range strings.Lines(b[2]) {
			runLine(t, strings.TrimSpace(line))
			commands++
		}
	}
	require.Greater(t, commands, 3)
}

// TestPyTorchPage runs the Python of docs/pytorch.md and its command, which generates the ids that
// PyTorch does.
func TestPyTorchPage(t *testing.T) {
	python := transformers()
	if python == "" {
		t.Skip("RESIDUA_PYTHON names no Python with torch and transformers")
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "pytorch.md"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	blocks := codeBlock.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 3)
	require.Len(t, strings.Split(strings.TrimSpace(strings.Replace(blocks[1][2], "\n\n", "\n", 1)), "\n"), 12, "twelve lines")
	want := strings.Trim(runPython(t, python, blocks[0][2]), "[]\n")
	runPython(t, python, blocks[1][2])
	require.Equal(t, strings.ReplaceAll(want, ", ", ","), strings.TrimSpace(runLine(t, strings.TrimSpace(blocks[2][2]))))
}

// runLine runs a command line of the page, and returns what it prints.
func runLine(t *testing.T, line string) string {
	got := call(clitest.Words(strings.TrimPrefix(line, "go run ./cmd/residua "))...)
	require.Equal(t, commandline.ExitOK, got.Code, "%s: %s", line, got.Stderr)
	return got.Stdout
}

// transformers is a Python that has it and PyTorch, that of RESIDUA_PYTHON; "": none.
func transformers() string {
	program := os.Getenv("RESIDUA_PYTHON")
	if program == "" {
		program = "python3"
	}
	check := "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ['torch', 'transformers'])))"
	if exec.Command(program, "-c", check).Run() != nil {
		return ""
	}
	return program
}

func runPython(t *testing.T, program, code string) string {
	c := exec.CommandContext(t.Context(), program, "-c", code)
	c.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_MODULES_CACHE="+t.TempDir())
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s\n%s", code, out)
	require.NotEmpty(t, out)
	return string(out)
}
