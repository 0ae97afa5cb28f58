package models

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// Two ranks exchange each half of 4 MB of gradients, then of weights: 4 MB at 1 GB/s and 4
// messages.
func TestScale(t *testing.T) {
	l, err := parseLink("alpha=1ms,beta=1GB/s")
	require.NoError(t, err)
	s := scale(1_000_000, 1000, 2, 0.1, l)
	require.Equal(t, 4e6, s.Bytes)
	require.Equal(t, 2, s.Messages)
	require.InDelta(t, 0.006, s.Exchange, 1e-12)
	require.InDelta(t, 2000/0.106, s.TokensPS, 1e-6)
	require.InDelta(t, 0.1/0.106, s.Efficiency, 1e-12)
	require.Equal(t, s.Efficiency, s.Overlapped, "of one bucket nothing overlaps")
	s = scale(100<<20, 1000, 2, 0.1, l)
	require.InDelta(t, s.Exchange+0.1-0.1/s.Overlapped, 0.1*2/3, 1e-9, "no more overlaps than the backward pass takes")
	one := scale(1_000_000, 1000, 1, 0.1, l)
	require.Equal(t, 1.0, one.Efficiency)
	require.Zero(t, one.Messages)
}

func TestScalingRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`-scaling: want 10gbe, 100gbe, shm or alpha=TIME`: {"-scaling", "1gbe"},
		`got no beta in "alpha=2us"`:                      {"-scaling", "alpha=2us"},
		`got "alpha=2us,beta=12"`:                         {"-scaling", "alpha=2us,beta=12"},
		`-step: want the measured time`:                   {"-scaling", "shm", "-preset", "quickstart"},
		`-scaling: want -preset`:                          {"-scaling", "shm", "-step", "1s"},
	} {
		got := clitest.Call(Command(models.Standard()), args...)
		require.Equal(t, commandline.ExitUsage, got.Code)
		require.Contains(t, got.Stderr, want)
	}
}

func TestScalingJSON(t *testing.T) {
	got := clitest.Call(Command(models.Standard()), "-scaling", "100gbe", "-preset", "quickstart", "-step", "100ms", "-json", "-seq", "64")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var lines [][]scaled
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &lines))
	require.Len(t, lines[0], 11)
	require.Equal(t, 1024, lines[0][10].Ranks)
	require.InDelta(t, 8*64/0.1, lines[0][0].TokensPS, 1e-6)
}

// TestDocumentedScaling: docs/distributed.md has the table that its command prints.
func TestDocumentedScaling(t *testing.T) {
	doc, err := os.ReadFile("../../docs/distributed.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(doc), "$ residua models ")
	require.True(t, found)
	command, table, _ := strings.Cut(text, "\n")
	table, _, _ = strings.Cut(table, "```")
	got := clitest.Call(Command(models.Standard()), strings.Fields(command)...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	printed, _, _ := strings.Cut(got.Stdout, "\n\n")
	require.Equal(t, strings.TrimSpace(table), strings.TrimSpace(printed), "put there what go run ./cmd/residua models %s prints", command)
}
