package models

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// TestResidualsAsJSON: every stream that a preset has is there once, with its choices.
func TestResidualsAsJSON(t *testing.T) {
	got := clitest.Call(Command(models.Standard()), "-residuals", "-json")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	var all []design
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &all))
	choices := map[string][3]stream.Choice{}
	for _, d := range all {
		assert.NotContains(t, choices, d.Name)
		f := d.Sites[0]
		choices[d.Name] = [3]stream.Choice{f.Res.Choice, f.Down.Choice, f.Up.Choice}
		assert.NotEmpty(t, f.Source)
		assert.Equal(t, "blocks.0.attention", f.Site)
		onEntries := d.Name == "dwlstm" || d.Name == "deep-delta" // of a row, not on rows
		assert.Equal(t, f.Down.Columns == f.Res.Columns, !onEntries, d.Name)
	}
	for name, want := range map[string][3]stream.Choice{
		"vector": {stream.Fixed, stream.Fixed, stream.Fixed}, "matrix": {stream.Fixed, stream.Learned, stream.Learned},
		"hyper static": {stream.Learned, stream.Learned, stream.Learned}, "hyper dynamic": {stream.Dependent, stream.Dependent, stream.Dependent},
		"dwlstm": {stream.Dependent, stream.Fixed, stream.Dependent},
	} {
		assert.Equal(t, want, choices[name], name)
	}
	for _, p := range models.Standard().Presets() {
		assert.Contains(t, choices, designName(p.Config.Stream), p.Name)
	}
}

func TestResidualsTable(t *testing.T) {
	got := clitest.Call(Command(models.Standard()), "-residuals")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.True(t, strings.HasPrefix(got.Stdout, linearForm))
	for _, want := range []string{
		`(?m)^vector +A_res +fixed +1 x 1 +1 x 1 +1$`,
		`(?m)^ +A_down, attention +learned +3R x Dk +24 x 32 +N\(0, 0\.18\^2\)$`,
		`(?m)^ +A_down, feedforward +learned +R x Dk +8 x 32 `,
		`(?m)^mhc mixed +A_res +input-dependent, doubly stochastic +n x n +4 x 4 +0\.999 on the diagonal$`,
		`(?m)^ +A_down +input-dependent +m x n +2 x 3 +\[I 0\]$`,
		`(?m)^  highway +h' has a third term`,
		`(?m)^  mhc mixed +DeepSeek 2025, arXiv 2512\.24880$`,
	} {
		assert.Regexp(t, want, got.Stdout)
	}
}
