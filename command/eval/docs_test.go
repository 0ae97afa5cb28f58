package eval

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
)

// TestPage runs the commands of docs/eval.md as they stand there, from the project's root, on runs of the names that it has, and
// compares the output that it shows.
func TestPage(t *testing.T) {
	runs := map[string]string{
		"runs/quickstart":             clitest.Train(t, "model.seq=64").Dir,
		"runs/quickstart-transformer": clitest.Train(t, "model.seq=64", "seed=8").Dir,
	}
	t.Chdir(filepath.Join("..", ".."))
	pictures := t.TempDir()
	commands, shown := 0, 0
	var outputs []string // of the last block of commands
	for _, b := range clitest.Blocks(t, filepath.Join("docs", "eval.md")) {
		switch b.Language {
		case "text":
			require.NotEmpty(t, outputs)
			assertSame(t, b.Text, outputs[0])
			shown++
		case "sh":
			outputs = nil
			for line := range strings.Lines(b.Text) {
				args, ours := strings.CutPrefix(strings.TrimSpace(line), "go run ./cmd/eval ")
				require.True(t, ours, line)
				words := clitest.Words(args)
				for i, word := range words {
					if dir, ok := runs[word]; ok {
						words[i] = dir
					} else if strings.HasSuffix(word, ".svg") {
						words[i] = filepath.Join(pictures, word)
					}
				}
				got := onOneThread(words...)
				require.Equal(t, cli.ExitOK, got.Code, "%s%s", line, got.Stderr)
				outputs = append(outputs, got.Stdout)
				commands++
			}
		}
	}
	assert.Greater(t, commands, 15)
	assert.Equal(t, 2, shown)
}

// assertSame compares two texts word by word, numbers up to the rounding of their last digit or a thousandth: no two processors'
// are the same.
func assertSame(t *testing.T, want, got string) {
	wants, gots := strings.Fields(want), strings.Fields(got)
	require.Len(t, gots, len(wants), got)
	for i, w := range wants {
		a, errA := strconv.ParseFloat(strings.TrimSuffix(w, "%"), 64)
		b, errB := strconv.ParseFloat(strings.TrimSuffix(gots[i], "%"), 64)
		if errA != nil || errB != nil {
			assert.Equal(t, w, gots[i], got)
			continue
		}
		mantissa, exponent, _ := strings.Cut(strings.TrimSuffix(w, "%"), "e")
		_, decimals, _ := strings.Cut(mantissa, ".")
		power, _ := strconv.Atoi(exponent)
		digit := math.Pow10(power - len(decimals))
		assert.InDelta(t, a, b, max(1.01*digit, 1e-3*a), "%s, want %s in:\n%s", gots[i], w, got)
	}
}
