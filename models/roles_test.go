package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestWeightsHaveRoles: each small preset has weight matrices; a parameter that holds matrices
// decays and holds nothing else; tables and the unembedding hold none.
func TestWeightsHaveRoles(t *testing.T) {
	for _, p := range models.Standard().Presets() {
		if p.Config.Layers != 4 {
			continue
		}
		store := graph.NewPlan(tensor.Float32)
		_, err := models.New(gorgonia.NewGraph(), modeltest.Resolve(t, p.Config), graph.Options{Store: store})
		require.NoError(t, err)
		roles := map[graph.Role]int{}
		for _, param := range store.Params() {
			roles[param.Role]++
			if param.Role != "" {
				assert.True(t, param.Decay && len(param.Shape) > 1, "%s: %s %v", p.Name, param.Name, param.Shape)
			}
			entries := 0
			for _, m := range param.Matrices() {
				entries += m.Rows * m.Columns
			}
			if entries > 0 {
				assert.Equal(t, param.Size(), entries, "%s: %s %v", p.Name, param.Name, param.Shape)
			}
		}
		assert.Positive(t, roles[graph.RoleHidden], p.Name)
		assert.Equal(t, roles[graph.RoleReadKeys] > 0, roles[graph.RoleWriteKeys] > 0, p.Name)
		for _, name := range []string{"embedding", "positions", "unembedding"} {
			if param := store.Param(name); param != nil {
				assert.Empty(t, param.Role, "%s: %s", p.Name, name)
			}
		}
	}
}
