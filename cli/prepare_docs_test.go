package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// TestPreparePage runs the commands of docs/data.md as they stand there, in order, from the
// project's root, with a smaller training; and its Python where there is one with tokenizers. What
// they write is in a temporary folder. So a model is trained, scored, sampled and exported with a
// tokenizer that was trained here.
func TestPreparePage(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model")
	}
	dir := t.TempDir()
	t.Chdir("..")
	smaller := []string{"train.steps=2", "train.eval_tokens=500", "sample.tokens=0", "model.seq=64", "train.batch=2", "model.layers=1", "device.threads=1"}
	ran := 0
	for _, b := range clitest.Blocks(t, filepath.Join("docs", "data.md")) {
		text := strings.NewReplacer("corpora/", dir+"/corpora/", "runs/", dir+"/runs/").Replace(b.Text)
		if b.Language == "python" {
			runPythonWithTokenizers(t, text)
			continue
		}
		for line := range strings.Lines(text) {
			words := clitest.Words(strings.NewReplacer("go run ./cmd/residua ", "", "go run ./cmd/train", "train").Replace(line))
			if words[0] == "train" {
				for _, set := range smaller {
					words = append(words, "-set", set)
				}
			}
			got := call(words...)
			require.Equal(t, commandline.ExitOK, got.Code, "%s%s", line, got.Stderr)
			ran++
		}
	}
	assert.Equal(t, 10, ran)
	for _, name := range []string{"config.json", "tokenizer.json"} {
		assert.FileExists(t, filepath.Join(dir, "runs", "residua-hf", name))
	}
	ours, err := os.ReadFile(filepath.Join(dir, "corpora", "residua", "tokenizer.json"))
	require.NoError(t, err)
	theirs, err := os.ReadFile(filepath.Join(dir, "runs", "residua-hf", "tokenizer.json"))
	require.NoError(t, err)
	assert.Equal(t, string(ours), string(theirs))
}

// runPythonWithTokenizers runs Python, the one of RESIDUA_PYTHON if that is set, if it has
// tokenizers.
func runPythonWithTokenizers(t *testing.T, code string) {
	program := os.Getenv("RESIDUA_PYTHON")
	if program == "" {
		program = "python3"
	}
	if exec.Command(program, "-c", "import tokenizers").Run() != nil {
		return
	}
	out, err := exec.CommandContext(t.Context(), program, "-c", code).CombinedOutput()
	require.NoError(t, err, "%s\n%s", code, out)
	require.NotEmpty(t, out)
}
