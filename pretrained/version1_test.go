package pretrained_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// TestVersion1ModelsAreRead: a model file of each design gives the same results as when it was
// written.
func TestVersion1ModelsAreRead(t *testing.T) {
	files, err := filepath.Glob("../testdata/version1/*/model.safetensors")
	require.NoError(t, err)
	designs := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			p, err := pretrained.Open(file)
			require.NoError(t, err)
			designs[p.Spec.Stream.Name()] = true
			var want struct {
				Tokens      []int32   `json:"tokens"`
				Targets     []int32   `json:"targets"`
				Logits      []float32 `json:"logits"`
				TokenLosses []float32 `json:"token_losses"`
			}
			text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "expected.json"))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &want))
			m, err := models.Compile(p.Spec, 1, len(want.Tokens), models.Outputs{Logits: true, TokenLosses: true}, graph.ProgramOptions{Options: graph.Options{Store: p.Store}})
			require.NoError(t, err)
			defer m.Close()
			copy(m.Tokens, want.Tokens)
			copy(m.Targets, want.Targets)
			require.NoError(t, m.Run(graph.RunOptions{}))
			require.InDeltaSlice(t, want.Logits, float32s(t, m.Logits), 1e-5)
			require.InDeltaSlice(t, want.TokenLosses, float32s(t, m.TokenLosses), 1e-5)

			again := filepath.Join(t.TempDir(), "model.safetensors")
			require.NoError(t, pretrained.Save(again, p.Store, p.Description))
			saved, err := pretrained.Open(again)
			require.NoError(t, err)
			require.Equal(t, p.Spec, saved.Spec, "saved in the version of today")
		})
	}
	require.Len(t, designs, 9, "a model of each design that there was")
}

func float32s(t *testing.T, n *gorgonia.Node) []float32 {
	value, err := graph.Value(n)
	require.NoError(t, err)
	return value.Float32s()
}
