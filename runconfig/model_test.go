package runconfig

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

// TestModelRefusals: the error for a model that cannot be built has the file, the line and the key
// at fault, in whichever section; for a key that is not given it has no line.
func TestModelRefusals(t *testing.T) {
	const train = "\ntrain: {steps: 1, lr: 1e-3}"
	for _, row := range []struct{ text, position, key string }{
		{"model:\n  preset: quickstart-mhc\n  stream: {n: -1}" + train, "c/x.yaml:3", "model.stream.n"},
		{"model:\n  preset: quickstart-mhc\n  stream: {n: 0}" + train, "c/x.yaml:3", "model.stream.n"},
		{"model:\n  preset: quickstart-mhc-lite\n  stream:\n    n: 5" + train,
			"c/x.yaml:4", "model.stream.n"},
		{"model:\n  preset: quickstart-mhc\n\n  stream: {sinkhorn_iterations: -3}" + train, "c/x.yaml:4", "model.stream.sinkhorn_iterations"},
		{"model:\n  preset: quickstart-vwn\n  stream: {m: 3}" + train, "c/x.yaml:3", "model.stream.m"},
		{"model:\n  preset: quickstart-vwn\n  stream: {n: 1}" + train, "c/x.yaml:3", "model.stream.n"},
		{"model:\n  preset: quickstart-vwn\n  tie_embeddings: true" + train,
			"c/x.yaml:3", "model.tie_embeddings"},
		{"model:\n  preset: quickstart-hieragg\n  layers: 3" + train,
			"c/x.yaml:3", "model.layers"},
		{"model:\n  preset: quickstart-hieragg\n  stream: {inner: -4}" + train, "c/x.yaml:3", "model.stream.inner"},
		{"model:\n  preset: quickstart-dwlstm\n  feedforward: {kind: gelu, hidden: 12}" + train,
			"c/x.yaml:3", "model.feedforward"},
		{"model:\n  preset: quickstart-highway\n  stream: {dynamic: true}" + train, "c/x.yaml:3", "model.stream.dynamic"},
		{"model:\n  preset: quickstart-highway\n  mup:\n    base: {feedforward: {hidden: 8}}" + train, "c/x.yaml:3", "model.mup"},
		{"model:\n  preset: quickstart-moe\n  feedforward: {top_k: 9}" + train, "c/x.yaml:3", "model.feedforward.top_k"},
		{"model:\n  preset: quickstart-moe\n  feedforward: {experts: 1}" + train, "c/x.yaml", "model.feedforward.top_k"},
		{"model:\n  preset: quickstart\n  attention: {heads: 8}" + train, "c/x.yaml:3", "model.attention.heads"},
		{"model: {preset: quickstart-moe}\ntrain:\n  steps: 1\n  lr: 1e-3\n  balance_loss: -1", "c/x.yaml:5", "train.balance_loss"},
		{"model: {preset: quickstart-moe}\ntrain:\n  steps: 1\n  lr: 1e-3\n  router_z_loss: -1", "c/x.yaml:5", "train.router_z_loss"},
		{"model: {preset: quickstart-moe}\ntrain:\n  steps: 1\n  lr: 1e-3\n  z_loss: -1", "c/x.yaml:5", "train.z_loss"},
		{"model:\n  preset: quickstart-mhc\n  stream: {sinkhorn_iteration: 3}" + train, "c/x.yaml:3", "model.stream.sinkhorn_iteration"},
		{"model:\n  preset: quickstart-moe\n  balance_loss: 1" + train, "c/x.yaml:3", "model.balance_loss"},
		{"model:\n  preset: quickstart-mch" + train, "c/x.yaml:2", "model.preset"},
	} {
		_, _, err := Parse(zoo, "c/x.yaml", []byte(row.text), nil)
		requireAt(t, err, row.position, row.key)
	}
}

// TestEveryPresetIsARunsModel: a run can have every preset as its model; its auxiliary losses come
// from the train section.
// TestAMistakeIsNotHiddenByThePreset: a config whose stream has only the keys that differ from the
// preset's is read with the preset; a mistake elsewhere, which keeps the preset's name from being
// read, is named itself.
func TestAMistakeIsNotHiddenByThePreset(t *testing.T) {
	const model = "model: {preset: quickstart-transformer, stream: {d_model: 32}}\n"
	for _, c := range []struct{ text, set, want string }{
		{text: model + "train: {steps: 3}\ntrain: {lr: 1e-3}\n", want: "x.yaml:3: train: given twice, first on line 2"},
		{text: "train: {steps: 3}\n" + model + "train: {lr: 1e-3}\n", want: "x.yaml:3: train: given twice, first on line 1"},
		{text: model + "train: {steps: 3, steps: 4}\n", want: "x.yaml:2: train.steps: given twice, first on line 2"},
		{text: model + "train: {steps: many}\n", want: `x.yaml:2: train.steps: want an integer, got "many"`},
		{text: model, set: "train.steps", want: `-set: want key=value, as in train.steps=200, got "train.steps"`},
		{text: model, set: "=3", want: `-set: want key=value, as in train.steps=200, got "=3"`},
		{text: model, set: "train.steps={", want: "-set: train.steps: not YAML: could not find flow mapping end token '}'"},
		{text: model, set: "train.steps=3 # few", want: "-set: train.steps: # starts a comment; write the value in quotes"},
		{text: model, set: "model.preset.x=1", want: "-set: model.preset.x: unknown key; the value of model.preset is a string"},
		{text: "- a\n", want: "x.yaml:1: want a map with the keys name, seed, model, data, train, sample, device, out, got a list"},
		{text: "", want: "x.yaml: empty; want a map with the keys name, seed, model, data, train, sample, device, out"},
		{text: strings.Replace(model, "-transformer", "-none", 1), want: `x.yaml:1: model.preset: unknown preset "quickstart-none"`},
	} {
		sets := []string{"data.source=goroot"}
		if c.set != "" {
			sets = append(sets, c.set)
		}
		_, _, err := Parse(zoo, "x.yaml", []byte(c.text), sets)
		require.ErrorContains(t, err, c.want, "%s %s", c.text, c.set)
	}
	_, _, err := Parse(zoo, "x.yaml", []byte(model+"train: {steps: 3, lr: 1e-3}\n"), nil)
	require.NoError(t, err)
}

func TestEveryPresetIsARunsModel(t *testing.T) {
	for _, p := range zoo.Presets() {
		text := "model: {preset: " + p.Name + "}\ntrain: {steps: 1, lr: 1e-3, z_loss: 0, router_z_loss: 1e-3}"
		run, _, err := Parse(zoo, "x.yaml", []byte(text), nil)
		require.NoError(t, err, p.Name)
		assert.Equal(t, models.Auxiliary{BalanceLoss: 0.01, RouterZLoss: 1e-3}, run.Auxiliary())
		assert.Equal(t, p.Config.Stream.Name(), run.Spec().Stream.Name())
		assert.Equal(t, run.Model, run.Spec().Config)
	}
}
