package models

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// counts are the parameters in millions of the models whose size the RMT paper prints: as it
// prints them, in Tables 8, 9 and 10, and all of them, computed.
var counts = map[string][2]string{
	"rmt-46m": {"46", "45.90"}, "rmt-134m": {"134", "134.29"}, "rmt-206m": {"206", "206.31"}, "rmt-305m": {"305", "305.13"},
	"transformer-49m": {"49", "49.42"}, "transformer-162m": {"160", "162.54"}, "transformer-264m": {"260", "263.96"}, "transformer-405m": {"405", "405.49"},
	"rmt-134m-lecun": {"134", "134.29"}, "highway-191m": {"191", "190.85"}, "hieragg-165m": {"165", "164.90"}, "dwlstm-233m": {"233", "233.39"},
}

func TestModelsAsJSON(t *testing.T) {
	got := clitest.Call(Command(models.Standard()), "-json")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var presets []preset
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &presets))
	require.Len(t, presets, len(models.Standard().Presets()))
	compared := 0
	for i, p := range presets {
		assert.Equal(t, models.Standard().Presets()[i].Name, p.Name)
		assert.Equal(t, p.Exact, p.Embedding+p.Rest)
		assert.Equal(t, 3*p.ForwardFLOPs, p.TrainFLOPs)
		assert.Equal(t, p.Seq*p.ActivationBytes, p.RowActivationBytes)
		assert.Positive(t, p.StreamSize)
		want, known := counts[p.Name]
		assert.Equal(t, known, p.Paper != nil, p.Name)
		assert.Equal(t, known, p.PaperNote != "", p.Name)
		if known {
			compared++
			assert.Equal(t, want[0], printed(*p.Paper), p.Name)
			assert.Equal(t, want[1], millions(p.Exact), p.Name)
		}
	}
	assert.Equal(t, len(counts), compared)
}

func TestModelsTable(t *testing.T) {
	got := clitest.Call(Command(models.Standard()))
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	lines := strings.Split(got.Stdout, "\n")
	assert.Regexp(t, `^preset +printed +computed +tables +rest +forward +train +stream +activations +a sequence$`, lines[0])
	end := strings.Index(lines[0], "computed") + len("computed")
	for i, p := range models.Standard().Presets() {
		line := lines[i+1]
		assert.True(t, strings.HasPrefix(line, p.Name+" "), line)
		assert.True(t, strings.HasSuffix(line[:end], " "+millions(modeltest.Resolve(t, p.Config).Cost().Parameters)), "the column ends under its name: %q", line)
		if want, known := counts[p.Name]; known {
			assert.Contains(t, line, " "+want[0]+" ")
		} else {
			assert.Contains(t, line, " - ")
		}
	}
	for _, want := range []string{
		"layers=12 dk=32 dv=64 rank=12 hidden=3072\n", "layers=12 d_model=768 inner=768 heads=12 hidden=3072\n", "layers=12 d_model=768 heads=12\n",
		"d_model=768 n=4 dynamic heads=12 ", "n=64 m=8 heads=12 ", "hidden=1536 experts=8 top_k=2\n",
	} {
		assert.Contains(t, got.Stdout, want)
	}
	assert.Contains(t, got.Stdout, "\ncomputed     all parameters in millions")
}

// TestFits120Columns: what is printed fits a terminal of 120 columns.
func TestFits120Columns(t *testing.T) {
	all := []string{"", "-residuals", "-preset rmt-134m"}
	if longtest.Enabled() {
		all = append(all, "-memory", "-memory -device cpu", "-fit 80") // of every preset
	}
	for _, args := range all {
		got := clitest.Call(Command(models.Standard()), strings.Fields(args)...)
		require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
		for _, line := range strings.Split(got.Stdout, "\n") {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 120, "models %s: %s", args, line)
		}
	}
}

func TestModelsRefuses(t *testing.T) {
	clitest.Call(Command(models.Standard()), "-jsn").Refused(t, "unknown flag -jsn; did you mean -json?")
	clitest.Call(Command(models.Standard()), "quickstart").Refused(t, `want flags alone, got "quickstart"`)
}

func TestModelsHelp(t *testing.T) {
	got := clitest.Call(Command(models.Standard()), "-h")
	assert.Equal(t, commandline.ExitOK, got.Code)
	assert.True(t, strings.HasPrefix(got.Stdout, "Example:\n  models\n"))
	assert.Contains(t, got.Stdout, "\n  -json")
}

// TestPresetsTensors: a preset's parameters add up to what its cost says, and activations that
// exist only when they are hooked are listed; blocks of one shape share a line.
func TestPresetsTensors(t *testing.T) {
	preset, err := models.Standard().Preset("quickstart-mhc")
	require.NoError(t, err)
	got := clitest.Call(Command(models.Standard()), "-preset", preset.Name, "-json")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var all []presetTensors
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &all))
	n := 0
	for _, p := range all[0].Parameters {
		n += p.Count * tensor.Shape(p.Shape).TotalSize()
	}
	spec := modeltest.Resolve(t, preset.Config)
	assert.Equal(t, spec.Cost().Parameters, n)
	assert.Contains(t, all[0].Activations, namedTensor{Name: "blocks.*.attention.pattern", Count: spec.Layers, Shape: []int{1, 8, 1}, Axes: []string{"token", "head", "key"}})
	clitest.Call(Command(models.Standard()), "-preset", "quickstat").Refused(t, `-preset: preset: want one of`)
}
