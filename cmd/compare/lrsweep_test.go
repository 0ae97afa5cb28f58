package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/internal/cli/clitest"
	"github.com/residua-go/residua/models"
)

func TestBestPassesOverDivergence(t *testing.T) {
	nan := number(math.NaN())
	assert.Equal(t, number(2), best([]float64{1, 2, 3}, []number{5, 4, nan}))
	assert.Equal(t, number(3), best([]float64{1, 2, 3}, []number{nan, nan, 7}))
	assert.False(t, best([]float64{1}, []number{nan}).finite())
}

// TestSweepCommand: the muP base is the standard base, bit for bit; each width's best rate
// is that of its lowest loss; a rate far too high is worse.
func TestSweepCommand(t *testing.T) {
	dir := t.TempDir()
	args := append(text(t), "-lrsweep", "-stream", "matrix", "-widths", "1,2", "-steps", "12", "-lr", "1e-6,1e-2,1e30", "-out", dir,
		"-set", "model.layers=1", "-set", "model.seq=8", "-set", "model.stream.dk=8", "-set", "model.stream.rank=2", "-set", "model.feedforward.hidden=32")
	got := clitest.Call(command(models.Standard()), append(args, "-json")...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var sweeps []sweep
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &sweeps))
	require.Len(t, sweeps, 1)
	s := sweeps[0]
	assert.Equal(t, 12*8*8, s.Tokens)
	require.Len(t, s.Lines, 4)
	assert.Equal(t, s.Lines[0].Losses[:2], s.Lines[2].Losses[:2], "muP and standard at x1")
	assert.NotEqual(t, s.Lines[1].Losses[1], s.Lines[3].Losses[1], "muP and standard at x2")
	for _, l := range s.Lines {
		assert.Equal(t, number(1e-2), l.Best)
		assert.Less(t, float64(l.Losses[1]), float64(l.Losses[0]))
		assert.False(t, l.Losses[2].finite())
	}
	got = clitest.Call(command(models.Standard()), args...)
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `\n +lr +muP x1 +muP x2 +standard x1 +standard x2\n`, got.Stdout)
	assert.Regexp(t, `\n +best lr +0\.01 +0\.01 +0\.01 +0\.01\n`, got.Stdout)
	picture, err := os.ReadFile(filepath.Join(dir, "lrsweep.svg"))
	require.NoError(t, err)
	assert.Contains(t, string(picture), "width x2")
}
