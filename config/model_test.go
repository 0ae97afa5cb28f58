package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// TestModelRefusals: a model that cannot be built is refused with the file, the line and the
// key that it was given at, in whichever section; a key that is not given, without a line.
func TestModelRefusals(t *testing.T) {
	const train = "\ntrain: {steps: 1, lr: 1e-3}"
	for _, row := range []struct{ text, want string }{
		{"model:\n  preset: quickstart-mhc\n  n: -1" + train, "c/x.yaml:3: model.n: want >= 1, got -1"},
		{"model:\n  preset: quickstart-mhc-lite\n  n: 5" + train,
			"c/x.yaml:3: model.n: want 1 to 4 for the mhc-lite stream, which mixes n! permutations, got 5: take the mhc stream"},
		{"model:\n  preset: quickstart-mhc\n\n  sinkhorn_iterations: -3" + train, "c/x.yaml:4: model.sinkhorn_iterations: want >= 1, got -3"},
		{"model:\n  preset: quickstart-vwn\n  m: 3" + train, "c/x.yaml:3: model.m: want a divisor of d_model 256, got 3"},
		{"model:\n  preset: quickstart-vwn\n  n: 1" + train, "c/x.yaml:3: model.n: want at least m 2, the slots that a sublayer reads, got 1"},
		{"model:\n  preset: quickstart-vwn\n  tie_embeddings: true" + train,
			"c/x.yaml:3: model.tie_embeddings: want expand_embedding with it for the vwn stream, whose embedding is wider than d_model"},
		{"model:\n  preset: quickstart-hieragg\n  layers: 3" + train,
			"c/x.yaml:3: model.layers: want an even number for the hieragg stream, which aggregates pairs of blocks, got 3"},
		{"model:\n  preset: quickstart-hieragg\n  inner: -4" + train, "c/x.yaml:3: model.inner: want >= 1, got -4"},
		{"model:\n  preset: quickstart-dwlstm\n  ff: 12" + train, "c/x.yaml:3: model.ff: want nothing for the dwlstm stream, got 12: remove it or change model.stream"},
		{"model:\n  preset: quickstart-dwlstm\n  experts: 2" + train,
			"c/x.yaml:3: model.experts: want nothing for the dwlstm stream, which has no feed-forward sublayer, got 2"},
		{"model:\n  preset: quickstart-highway\n  dynamic: true" + train, "c/x.yaml:3: model.dynamic: want nothing for the highway stream: it belongs to hyper"},
		{"model:\n  preset: quickstart-highway\n  mup:\n    base_ff: 8" + train, "c/x.yaml:3: model.mup: want nothing for the highway stream: muP is known for matrix and vector"},
		{"model:\n  preset: quickstart-moe\n  top_k: 9" + train, "c/x.yaml:3: model.top_k: want 1 to 8, the number of experts, got 9"},
		{"model:\n  preset: quickstart-moe\n  experts: 1" + train, "c/x.yaml: model.top_k: want 1 to 1, the number of experts, got 2"},
		{"model: {preset: quickstart-moe}\ntrain:\n  steps: 1\n  lr: 1e-3\n  balance_loss: -1", "c/x.yaml:5: train.balance_loss: want >= 0, got -1"},
		{"model: {preset: quickstart-moe}\ntrain:\n  steps: 1\n  lr: 1e-3\n  router_z_loss: -1", "c/x.yaml:5: train.router_z_loss: want >= 0, got -1"},
		{"model: {preset: quickstart-moe}\ntrain:\n  steps: 1\n  lr: 1e-3\n  z_loss: -1", "c/x.yaml:5: train.z_loss: want >= 0, got -1"},
		{"model:\n  preset: quickstart-mhc\n  sinkhorn_iteration: 3" + train, `c/x.yaml:3: model.sinkhorn_iteration: unknown key; did you mean "sinkhorn_iterations"?`},
		{"model:\n  preset: quickstart-moe\n  balance_loss: 1" + train, `c/x.yaml:3: model.balance_loss: unknown key; did you mean train.balance_loss?`},
		{"model:\n  preset: quickstart-mch" + train, `c/x.yaml:2: model.preset: unknown preset "quickstart-mch"; did you mean quickstart-mhc?`},
	} {
		_, _, err := Parse("c/x.yaml", []byte(row.text), nil)
		assert.EqualError(t, err, row.want)
		if err != nil {
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}

// TestModelSections: every preset is a run's model; experts get their losses from the train
// section, other models have none.
func TestModelSections(t *testing.T) {
	for _, p := range models.Presets() {
		text := "model: {preset: " + p.Name + "}\ntrain: {steps: 1, lr: 1e-3, router_z_loss: 1e-3}"
		run, _, err := Parse("x.yaml", []byte(text), nil)
		require.NoError(t, err, p.Name)
		balance, z := 0.0, 0.0
		if strings.Contains(p.Name, "moe") {
			balance, z = 0.01, 1e-3
		}
		assert.Equal(t, balance, run.Model.BalanceLoss, p.Name)
		assert.Equal(t, z, run.Model.RouterZLoss, p.Name)
		assert.Equal(t, p.Config.Stream, run.Model.Stream)
	}
}
