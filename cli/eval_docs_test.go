package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval/tasks"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// TestEvalPage runs the commands of docs/eval.md as they stand there, from the project's root, on
// runs of the names that it has, and compares the output that it shows.
func TestEvalPage(t *testing.T) {
	runs := map[string]string{
		"runs/quickstart":             clitest.Train(t, "model.seq=64").Dir,
		"runs/quickstart-transformer": clitest.Train(t, "model.seq=64", "seed=8").Dir,
	}
	t.Chdir("..")
	pictures := t.TempDir()
	commands, shown := 0, 0
	var outputs []string // of the last block of commands
	for _, b := range clitest.Blocks(t, filepath.Join("docs", "eval.md")) {
		switch b.Language {
		case "text":
			require.NotEmpty(t, outputs)
			clitest.AssertSame(t, b.Text, outputs[0])
			shown++
		case "sh":
			outputs = nil
			for line := range strings.Lines(b.Text) {
				args, ours := strings.CutPrefix(strings.TrimSpace(line), "go run ./cmd/residua eval ")
				require.True(t, ours, line)
				words := clitest.Words(args)
				for i, word := range words {
					if dir, ok := runs[word]; ok {
						words[i] = dir
					} else if strings.HasSuffix(word, ".svg") {
						words[i] = filepath.Join(pictures, word)
					}
				}
				if slices.Contains(words, tasks.HeldOutFile) {
					words = append(words, "-limit", "5") // the runs' text here is small
				}
				got := evalOnOneThread(words...)
				require.Equal(t, commandline.ExitOK, got.Code, "%s%s", line, got.Stderr)
				outputs = append(outputs, got.Stdout)
				commands++
			}
		}
	}
	assert.Greater(t, commands, 15)
	assert.Equal(t, 2, shown)
}
