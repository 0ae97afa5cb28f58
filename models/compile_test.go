package models_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// TestModelsAreMadeOfOurOpsAlone: Gorgonia's tape machine would have to run a program with a stock node, and takes time to
// compile it that grows with the square of its nodes.
func TestModelsAreMadeOfOurOpsAlone(t *testing.T) {
	zoo := models.Standard()
	for _, name := range zoo.PresetNames() {
		if !strings.HasPrefix(name, "quickstart") {
			continue
		}
		preset, err := zoo.Preset(name)
		require.NoError(t, err)
		preset.Config.Dropout = 0.1
		spec, err := preset.Config.Resolve()
		require.NoError(t, err, name)
		p, err := models.Compile(spec, 1, 8, models.Outputs{Loss: true, TokenLosses: true, Logits: true, ExpertCounts: true},
			graph.ProgramOptions{Options: graph.Options{Threads: 1, Training: true}, Gradients: true})
		require.NoError(t, err, name)
		for _, n := range p.Builder().Graph().AllNodes() {
			require.True(t, n.Op() == nil || graph.PrimitiveOf(n) != nil, "%s: %s", name, n.Name())
		}
		p.Close()
	}
}
