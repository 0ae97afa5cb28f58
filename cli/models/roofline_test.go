package models

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// TestDocumentedRoofline: the tables in docs/cuda.md are what the command prints, of the presets
// that are there: at least the 80 that it was made with.
func TestDocumentedRoofline(t *testing.T) {
	const command = "-roofline h100 -precision bf16 -batch 32"
	doc, err := os.ReadFile("../../docs/cuda.md")
	require.NoError(t, err)
	got := clitest.Call(Command(models.Standard()), strings.Fields(command)...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	parts := strings.Split(strings.TrimSpace(got.Stdout), "\n\n")
	require.Len(t, parts, 3)
	var missing []string
	presets, found := models.Standard().PresetNames(), 0
	for _, line := range strings.Split(parts[0]+"\n"+parts[2], "\n") {
		name, _, _ := strings.Cut(line, " ")
		switch {
		case strings.Contains(string(doc), "\n"+line+"\n"):
			if slices.Contains(presets, name) {
				found++
			}
		case !slices.Contains(presets, name) || strings.Contains(string(doc), "\n"+name+" "):
			missing = append(missing, line)
		}
	}
	assert.GreaterOrEqual(t, found, 80)
	assert.Empty(t, missing, "lines that docs/cuda.md does not have: put what go run ./cmd/residua models %s prints there", command)
}

// TestRooflineJSON: an op a line, whose times add up to the device's.
func TestRooflineJSON(t *testing.T) {
	got := clitest.Call(Command(models.Standard()), "-roofline", "a100", "-json", "-preset", "quickstart", "-batch", "4", "-seq", "64")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var lines []presetPrediction
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &lines))
	require.Len(t, lines, 1)
	p := lines[0]
	assert.Equal(t, []any{"quickstart", "a100", 4, 64}, []any{p.Name, p.GPU, p.Batch, p.Seq})
	sum := 0.0
	for _, op := range p.Ops {
		sum += op.Seconds
	}
	assert.InEpsilon(t, p.DeviceSeconds, sum, 1e-9)
	assert.InEpsilon(t, float64(4*64), p.TokensPS*p.Seconds, 1e-9)
}

func TestRooflineRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`-roofline: want one of h100, h200, a100, rtx4090, b200, got "h20"`: {"-roofline", "h20"},
		"-preset: ":    {"-roofline", "h200", "-preset", "rmt-1"},
		"-seq: want":   {"-roofline", "h200", "-seq", "-1"},
		"-batch: want": {"-roofline", "h200", "-batch", "0"},
	} {
		got := clitest.Call(Command(models.Standard()), args...)
		require.Equal(t, commandline.ExitUsage, got.Code)
		require.Contains(t, got.Stderr, want)
	}
}
