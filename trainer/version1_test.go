package trainer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// version1 holds what a program of format version 1 has written.
const version1 = "../testdata/version1"

// TestVersion1ModelsAreRead: a model file of each design computes what it computed when it was
// written.
func TestVersion1ModelsAreRead(t *testing.T) {
	files, err := filepath.Glob(version1 + "/*/model.safetensors")
	require.NoError(t, err)
	designs := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			p, err := trainer.OpenModel(models.Standard(), file)
			require.NoError(t, err)
			designs[p.Model.Stream.Name()] = true
			var want struct {
				Tokens      []int32   `json:"tokens"`
				Targets     []int32   `json:"targets"`
				Logits      []float32 `json:"logits"`
				TokenLosses []float32 `json:"token_losses"`
			}
			text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "expected.json"))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &want))
			m, err := models.Compile(p.Model, 1, len(want.Tokens), models.Outputs{Logits: true, TokenLosses: true}, graph.ProgramOptions{Options: graph.Options{Store: p.Store}})
			require.NoError(t, err)
			defer m.Close()
			copy(m.Tokens, want.Tokens)
			copy(m.Targets, want.Targets)
			require.NoError(t, m.Run(graph.RunOptions{}))
			require.InDeltaSlice(t, want.Logits, float32s(t, m.Logits), 1e-5)
			require.InDeltaSlice(t, want.TokenLosses, float32s(t, m.TokenLosses), 1e-5)

			again := filepath.Join(t.TempDir(), "model.safetensors")
			require.NoError(t, p.Save(again))
			saved, err := trainer.OpenModel(models.Standard(), again)
			require.NoError(t, err)
			require.Equal(t, p.Model, saved.Model, "saved in the version of today")
		})
	}
	require.Len(t, designs, 9, "a model of each design that there was")
}

func float32s(t *testing.T, n *gorgonia.Node) []float32 {
	value, err := graph.Value(n)
	require.NoError(t, err)
	return value.Float32s()
}

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
	run, _, err := config.Parse(models.Standard(), "run.yaml", []byte(text), []string{"out=."})
	require.NoError(t, err)
	train(t, run, trainer.Options{Resume: trainer.ResumeAuto})
	got, want := metricsOf(t, "metrics.jsonl"), metricsOf(t, "expected.jsonl")
	require.Len(t, got, 8)
	for i := range want {
		require.InDelta(t, float64(want[i].Loss), float64(got[i].Loss), 1e-5)
		require.InDelta(t, float64(want[i].GradNorm), float64(got[i].GradNorm), 1e-4)
	}
	_, err = trainer.OpenModel(models.Standard(), ".")
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
