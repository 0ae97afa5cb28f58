package convert

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/cli/generate"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// block is a block of code of a page.
var block = regexp.MustCompile("(?s)```(sh|python)\n(.*?)```")

// words matches the words of a command line, quoted or not.
var words = regexp.MustCompile(`'[^']*'|\S+`)

// TestPage runs the commands of docs/convert.md as they stand there, in order, on runs of the names
// that it has; and its Python where there is one with transformers.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "convert.md"))
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

	python, commands := transformers(), 0
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		if b[1] == "python" {
			if python != "" {
				runPython(t, python, b[2])
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

// runLine runs a command line of the page.
func runLine(t *testing.T, line string) {
	all := map[string]commandline.Command{"convert": command(), "generate": generate.Command(models.Standard(), strings.NewReader(""))}
	name, args, _ := strings.Cut(strings.TrimPrefix(line, "go run ./cmd/residua "), " ")
	require.Contains(t, all, name, line)
	var list []string
	for _, word := range words.FindAllString(args, -1) {
		list = append(list, strings.Trim(word, "'"))
	}
	got := clitest.Call(all[name], list...)
	require.Equal(t, commandline.ExitOK, got.Code, "%s: %s", line, got.Stderr)
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

func runPython(t *testing.T, program, code string) {
	c := exec.CommandContext(t.Context(), program, "-c", code)
	c.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_MODULES_CACHE="+t.TempDir())
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s\n%s", code, out)
	require.NotEmpty(t, out)
}
