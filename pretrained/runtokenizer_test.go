package pretrained_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// TestRunsKeepTheirTokenizer: a run whose tokenizer is in files has a copy of them, by which its
// checkpoints read text, score and are exported when the run has been moved and the files are gone.
func TestRunsKeepTheirTokenizer(t *testing.T) {
	corpus := t.TempDir()
	copyTokenizer(t, corpus)
	require.NoError(t, os.WriteFile(filepath.Join(corpus, "config.json"), []byte(`{"bos_token_id": 0, "eos_token_id": 0}`), 0o600))
	path := filepath.Join(corpus, "tokenizer.json")
	text := write(t, "text.txt", lines(300))
	p, result := train(t, text, "data.tokenizer="+path, "train.eval_tokens=100")
	tokenizer, err := p.Tokenizer()
	require.NoError(t, err)
	ids := tokenizer.Encode(nil, "line 7")
	moved := filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.Rename(p.Source.RunDir, moved))
	require.NoError(t, os.RemoveAll(corpus))
	for _, dir := range []string{moved, filepath.Join(moved, "checkpoints", filepath.Base(result.Checkpoint))} {
		p, err = pretrained.Open(dir)
		require.NoError(t, err)
		tokenizer, err = p.Tokenizer()
		require.NoError(t, err)
		require.Equal(t, ids, tokenizer.Encode(nil, "line 7"))
		score, err := p.LoadText(t.Context(), pretrained.EvaluateOptions{})
		require.NoError(t, err)
		require.Empty(t, score.Warnings, "the fingerprint of the corpus has the tokenizer's first name")
		require.InDelta(t, result.Final.Loss, evaluate(t, p, pretrained.EvaluateOptions{}).Loss, 1e-6)
	}
	_, err = os.Stat(filepath.Join(moved, "tokenizer", "config.json"))
	require.NoError(t, err)

	config := filepath.Join(moved, "config.yaml") // it can be read, and the run goes on
	before, err := os.ReadFile(config)
	require.NoError(t, err)
	run, _, err := runconfig.Load(models.Standard(), config, []string{"out=" + moved, "train.steps=14"})
	require.NoError(t, err)
	training, err := trainer.Open(t.Context(), run, trainer.Options{Resume: trainer.ResumeAuto})
	require.NoError(t, err)
	defer training.Close()
	result, err = training.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 14, result.Steps)
	after, err := os.ReadFile(config)
	require.NoError(t, err)
	require.Contains(t, string(after), fmt.Sprintf("tokenizer: %q", path))
	require.Equal(t, strings.Count(string(before), "\n# "), strings.Count(string(after), "\n# "), "keys that follow from others stay so")
	p, err = pretrained.Open(moved)
	require.NoError(t, err)
	m, err := p.LoadText(t.Context(), pretrained.EvaluateOptions{})
	require.NoError(t, err)
	require.Empty(t, m.Warnings)
}
