package trainer_test

import (
	"encoding/json"
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

// version1 holds what a program of format version 1 has written.
const version1 = "../testdata/version1"

// TestVersion1RunIsResumed: a run that a program of format version 1 was interrupted in goes on
// to the losses that it would have had.
func TestVersion1RunIsResumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.CopyFS(dir, os.DirFS(version1+"/run")))
	const text = `
seed: 7
model: {stream: {kind: hyper, dynamic: true, n: 2, d_model: 4}, layers: 2, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 8}, seq: 8, dropout: 0.1}
data: {source: files, path: [text.txt], split: tail/5, mask_documents: true}
train: {batch: 2, steps: 8, lr: 1e-2, eval_every: 4, checkpoint_every: 4, keep: 3, eval_tokens: 64}
sample: {tokens: 0}
device: {threads: 1}
`
	t.Chdir(dir)
	run, _, err := runconfig.Parse(models.Standard(), "run.yaml", []byte(text), []string{"out=."})
	require.NoError(t, err)
	train(t, run, trainer.Options{Resume: trainer.ResumeAuto})
	got, want := metricsOf(t, "metrics.jsonl"), metricsOf(t, "expected.jsonl")
	require.Len(t, got, 8)
	for i := range want {
		require.InDelta(t, float64(want[i].Loss), float64(got[i].Loss), 1e-5)
		require.InDelta(t, float64(want[i].GradNorm), float64(got[i].GradNorm), 1e-4)
	}
	_, err = pretrained.Open(".")
	require.NoError(t, err)
}

// metricsOf reads the lines of metrics.jsonl.
func metricsOf(t *testing.T, file string) []trainer.Metrics {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var all []trainer.Metrics
	for line := range strings.Lines(string(text)) {
		var m trainer.Metrics
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		all = append(all, m)
	}
	return all
}
