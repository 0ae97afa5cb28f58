package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// logged trains a tiny model and keeps its weights after steps 0, 1, 2 and 4.
func logged(t *testing.T, stream string) string {
	t.Helper()
	return clitest.Train(t, append(tinySizes(stream), "train.steps=4", "train.eval_every=0", "train.checkpoint_every=4", "train.keep_log=true")...).Dir
}

// followed is the JSON of an analysis over training.
func followed(t *testing.T, args ...string) map[string]*report.OverSteps {
	t.Helper()
	var document struct{ Results map[string]*report.OverSteps }
	require.NoError(t, json.Unmarshal([]byte(analyzeWorks(t, append(args, "-json")...)), &document))
	return document.Results
}

// TestOver: each analysis that can be followed has the same curves at all steps, the loss among
// them, and the others are refused by name.
func TestOver(t *testing.T) {
	matrix, mixing := logged(t, "matrix"), logged(t, mixingStream)
	for _, c := range []struct {
		args  string
		units int
	}{
		{"heads -rows 1 -period 4", 2}, {"lens -prompt line", 1}, {"lens -prompt line -target 7", 2}, {"attribute -prompt line -target 7", 2},
		{"ablate -prompt line", 2}, {"ablate -blocks -rows 2", 1}, {"ablate -rows 2", 1}, {"ablate -prompt line -names embedding.out -target 7", 1},
		{"memory -seeds 2", 1}, {"basis -controls 1", 1}, {"mixing", 1},
	} {
		t.Run(c.args, func(t *testing.T) {
			run := matrix
			if c.args == "mixing" {
				run = mixing
			}
			found := followed(t, append(strings.Fields(c.args), "-over", run)...)
			require.Len(t, found, c.units+1)
			for _, unit := range found {
				require.Equal(t, []int{0, 1, 2, 4}, unit.Steps)
				for _, curve := range unit.Curves {
					require.Len(t, curve.Values, 4)
					for _, v := range curve.Values {
						assert.False(t, math.IsNaN(v), "%s %s", unit.Unit, curve.Name)
					}
				}
			}
			loss := found["loss-nats-a-token"]
			assert.InDelta(t, math.Log(257), *loss.Chance, 1e-12)
			assert.Less(t, loss.Curves[0].Values[3], loss.Curves[0].Values[0])
			if c.args == "mixing" {
				for _, p := range found["distance-from-the-start"].Curves {
					assert.Zero(t, p.Values[0], p.Name)
				}
			}
		})
	}
	for args, want := range map[string]string{
		"wiring -over " + matrix:                            "unknown flag -over: analysis: want one of attribute, lens, heads, basis, memory, ablate, mixing, got wiring",
		"heads -over " + trainedStream(t, "matrix"):         "-over: want a run that kept weights over training (train -set train.keep_log=true), got ",
		"heads -over " + matrix + " -checkpoint " + matrix:  "-over: want a run, or one model (-checkpoint), got both",
		"attribute -over " + matrix:                         "-target: want the token whose logit is followed over training, got none",
		"ablate -over " + matrix + " -prompt line -token 1": "-target: want the token whose logit is followed over training, got none",
		"mixing -over " + matrix:                            "mixing: want a stream ",
	} {
		callAnalyze(strings.Fields(args)...).Refused(t, want)
	}
}

// TestOverIsTheAnalysis: at the last step a curve is what the analysis of the run says.
func TestOverIsTheAnalysis(t *testing.T) {
	run := logged(t, "vector")
	var document struct {
		Results struct{ Scores analysis.HeadScores }
	}
	require.NoError(t, json.Unmarshal([]byte(analyzeWorks(t, "heads", "-rows", "2", "-period", "4", "-checkpoint", run, "-json")), &document))
	scores := followed(t, "heads", "-rows", "2", "-period", "4", "-over", run)["induction-score"]
	require.Len(t, scores.Curves, 6)
	for i, c := range scores.Curves {
		assert.Equal(t, document.Results.Scores.Induction[i/3][i%3], c.Values[3], c.Name)
		assert.NotEqual(t, c.Values[0], c.Values[3])
	}
	assert.Equal(t, "blocks.1.attention.2", scores.Curves[5].Name)
}

// TestOverGoesOn: what a folder keeps is not measured again, and the whole is the same as at once.
func TestOverGoesOn(t *testing.T) {
	run, dir := logged(t, "vector"), t.TempDir()
	args := []string{"heads", "-rows", "1", "-period", "4", "-over", run, "-out", dir}
	at := filepath.Join(dir, report.OverFile)
	whole := analyzeWorks(t, args...)
	complete, err := os.ReadFile(at)
	require.NoError(t, err)
	var held struct {
		Analysis json.RawMessage  `json:"analysis"`
		Settings json.RawMessage  `json:"settings"`
		Steps    []map[string]any `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(complete, &held))
	steps := held.Steps
	cut := func(n int) {
		held.Steps = steps[:n]
		text, err := json.Marshal(held)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(at, text, 0o600))
	}
	cut(2)
	require.Equal(t, whole, analyzeWorks(t, args...))
	again, err := os.ReadFile(at)
	require.NoError(t, err)
	require.Equal(t, string(complete), string(again))

	first := steps[0]
	first["curves"].([]any)[0].(map[string]any)["value"] = 123.0
	cut(1)
	require.Contains(t, analyzeWorks(t, args...), "123", "is taken from the folder")
	first["model"] = "other weights"
	cut(1)
	require.Equal(t, whole, analyzeWorks(t, args...), "is measured anew")

	callAnalyze("heads", "-rows", "2", "-period", "4", "-over", run, "-out", dir).Refused(t, "-out: want a folder without the curves of another analysis or other settings")
	checkPage(t, dir)
	checkFiles(t, filepath.Join(dir, "induction-score"))
}
