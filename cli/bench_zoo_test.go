package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
)

func TestBenchZoo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zoo.json")
	got := callBench("zoo", "-models", "quickstart-hyper-static,quickstart", "-shapes", "byte", "-batch", "1", "-seq", "8", "-steps", "2", "-rounds", "1", "-threads", "1", "-out", file)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `(?m)^quickstart-transformer +byte +1 x 8 +3\.28M +1\.000x +1\.000x +1\.000x +\d`, got.Stdout)
	assert.Regexp(t, `(?m)^quickstart-hyper-static +byte +1 x 8 +3\.28M +\d+\.\d{3}x +1\.\d{3}x +1\.\d{3}x +\d`, got.Stdout)
	assert.NotContains(t, got.Stdout, "of peak", "no model table")
	assert.Contains(t, got.Stderr, "quickstart compared with quickstart-transformer at byte: round 1 of 1")
	r := keptReport(t, file)
	require.Len(t, r.Designs, 3)
	for i, steps := range []int{4, 2, 2} { // the plain one took turns with both
		row := r.Designs[i]
		assert.Equal(t, steps, row.Steps, row.Name)
		for _, v := range []float64{row.Time, row.FLOPs, row.Bytes, row.TokensPS} {
			assert.Positive(t, v, row.Name)
		}
	}
	assert.Less(t, r.Designs[1].FLOPs, 1.0, "the RMT's keys")
	assert.Greater(t, r.Designs[2].Bytes, 1.0, "four streams")
}

// TestBenchZooByMuon: each optimizer has a comparison of its own, and is named.
func TestBenchZooByMuon(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zoo.json")
	got := callBench("zoo", "-models", "quickstart", "-optim", "adamw,muon", "-shapes", "byte", "-batch", "1", "-seq", "8", "-steps", "1", "-rounds", "1", "-threads", "1", "-out", file)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `(?m)^quickstart by muon +byte +1 x 8 +2\.25M `, got.Stdout)
	assert.Contains(t, got.Stderr, "quickstart compared with quickstart-transformer at byte by muon: round 1 of 1")
	r := keptReport(t, file)
	require.Len(t, r.Designs, 4)
	for i, optimizer := range []string{"adamw", "adamw", "muon", "muon"} {
		assert.Equal(t, optimizer, r.Designs[i].Optim)
	}
}

func TestBenchZooRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`-models: unknown residual design "mch-162m"; did you mean mhc-162m?`: {"zoo", "-models", "mch-162m"},
		`-shapes: unknown shape "bytes"; did you mean byte?`:                  {"zoo", "-shapes", "bytes"},
		"unknown flag -shapes":                                      {"models", "-shapes", "byte"},
		"unknown flag -pytorch":                                     {"zoo", "-pytorch"},
		"-steps: want >= 0, got -1":                                 {"zoo", "-steps", "-1"},
		`-optim: unknown optimizer "sgd"; want some of adamw, muon`: {"zoo", "-optim", "sgd"},
	} {
		t.Run(want, func(t *testing.T) { callBench(args...).Refused(t, want) })
	}
}
