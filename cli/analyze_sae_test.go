package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/internal/commandline"
)

// TestSAE: the command trains an autoencoder of a model's stream, and features shows its features
// in tables, JSON and a page; what the folder lacks is said.
func TestSAE(t *testing.T) {
	run, dir, page := trainedStream(t, "matrix"), filepath.Join(t.TempDir(), "sae"), filepath.Join(t.TempDir(), "page")
	got := call("sae", "-checkpoint", run, "-sae", dir, "-features", "40", "-k", "4", "-batch", "16", "-rows", "12")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stdout, "topk of blocks.1.feedforward.stream, over ")
	assert.Regexp(t, `features +40\n`, got.Stdout)
	args := []string{"features", "-checkpoint", run, "-sae", dir, "-rows", "4", "-top", "3"}
	text := analyzeWorks(t, append(args, "-out", page)...)
	assert.Regexp(t, `feature +share of tokens +mean +drawer +where it is strongest`, text)
	assert.Contains(t, text, "activations minus their mean")
	html, err := os.ReadFile(filepath.Join(page, report.PageFile))
	require.NoError(t, err)
	assert.Contains(t, string(html), "Is a feature one drawer?")
	assert.ElementsMatch(t, []string{"quality", "drawers", "features"}, checkDocument(t, "features", analyzeWorks(t, append(args, "-json")...)))
	callAnalyze("features", "-checkpoint", run, "-sae", t.TempDir()).Refused(t, "sae: want a folder with cfg.json")
	call("sae", "-checkpoint", run).Refused(t, "want a folder, got none")
	call("sae", "-over", run, "-sae", dir).Refused(t, "unknown flag -over: analysis: want one of attribute, ")
	var cfg struct {
		Metadata struct {
			Model string `json:"model_name"`
		}
	}
	config, err := os.ReadFile(filepath.Join(dir, "cfg.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(config, &cfg))
	assert.Equal(t, filepath.Base(run), cfg.Metadata.Model)
}
