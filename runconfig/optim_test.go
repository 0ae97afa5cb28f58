package runconfig

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOptim: Muon's learning rate and weight decay follow from its scale unless they are given, and
// a run's saved config makes the same run.
func TestOptim(t *testing.T) {
	const head = "model: {preset: quickstart}\ntrain:\n  steps: 10\n  lr: 3e-3\n  weight_decay: 0.07\n"
	for _, c := range []struct {
		text string
		sets []string
		want Optim
	}{
		{"", nil, AdamW{}},
		{"  optim: {kind: adamw}", nil, AdamW{}},
		{"  optim: {kind: muon}", nil, Muon{LR: 0.02, Momentum: 0.95, Scale: "original", Keys: "muon"}},
		{"  optim: {kind: muon, scale: match_rms_adamw}", nil, Muon{LR: 3e-3, Momentum: 0.95, Scale: "match_rms_adamw", WeightDecay: 0.07, Keys: "muon"}},
		{"  optim: {kind: muon, scale: match_rms_adamw, lr: 1, weight_decay: 0}", nil, Muon{LR: 1, Momentum: 0.95, Scale: "match_rms_adamw", Keys: "muon"}},
		{"  optim: {kind: muon, lr: 0.1, momentum: 0, weight_decay: 0.5, keys: adamw}", nil, Muon{LR: 0.1, Scale: "original", WeightDecay: 0.5, Keys: "adamw"}},
		{"", []string{"train.optim.kind=muon", "train.optim.lr=0.05"}, Muon{LR: 0.05, Momentum: 0.95, Scale: "original", Keys: "muon"}},
		{"  optim: {kind: muon, lr: 0.1}", []string{"train.optim.kind=adamw"}, AdamW{}},
	} {
		run, _, err := Parse(zoo, "c/x.yaml", []byte(head+c.text), c.sets)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, run.Train.Optim, c.text)
		text, err := run.Text()
		require.NoError(t, err)
		again, _, err := Parse(zoo, "config.yaml", text, []string{"name=x"})
		require.NoError(t, err, string(text))
		assert.Equal(t, run.Train, again.Train, string(text))
	}
	run, _, err := Parse(zoo, "x.yaml", []byte(head+"  optim: {kind: muon, scale: match_rms_adamw}"), nil)
	require.NoError(t, err)
	text, err := run.Text()
	require.NoError(t, err)
	slower, _, err := Parse(zoo, "config.yaml", text, []string{"train.lr=1e-3"})
	require.NoError(t, err)
	assert.Equal(t, 1e-3, slower.Train.Optim.(Muon).LR, "a rate that was derived follows train.lr")
}

// TestOptimRefusals: a value that no optimizer accepts is refused at its position.
func TestOptimRefusals(t *testing.T) {
	const head = "model: {preset: quickstart}\ntrain:\n  steps: 10\n  lr: 3e-3\n"
	for _, c := range []struct{ text, position, key string }{
		{"  optim: {kind: moun}", "c/x.yaml:5", "train.optim.kind"},
		{"  optim: null", "c/x.yaml:5", "train.optim"},
		{"  optim: {lr: 0.1}", "c/x.yaml:5", "train.optim.lr"},
		{"  optim: {kind: muon, lr: 0}", "c/x.yaml:5", "train.optim.lr"},
		{"  optim:\n    kind: muon\n    momentum: 1", "c/x.yaml:7", "train.optim.momentum"},
		{"  optim:\n    kind: muon\n    weight_decay: -1", "c/x.yaml:7", "train.optim.weight_decay"},
		{"  optim: {kind: muon, scale: big}", "c/x.yaml:5", "train.optim.scale"},
		{"  optim: {kind: muon, keys: sgd}", "c/x.yaml:5", "train.optim.keys"},
	} {
		_, _, err := Parse(zoo, "c/x.yaml", []byte(head+c.text), nil)
		requireAt(t, err, c.position, c.key)
	}
}
