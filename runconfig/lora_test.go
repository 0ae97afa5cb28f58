package runconfig

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLora reads the section, and names what is missing in it.
func TestLora(t *testing.T) {
	load := func(sets ...string) (*Run, error) {
		run, _, err := Load(zoo, "quickstart", sets)
		return run, err
	}
	run, err := load("train.lora={rank: 4, targets: [q_proj]}", "train.init_from=base")
	require.NoError(t, err)
	assert.Equal(t, Lora{Rank: 4, Alpha: 16, Targets: []string{"q_proj"}}, run.Train.Lora)
	whole, err := load("train.init_from=base")
	require.NoError(t, err)
	assert.False(t, whole.Train.Lora.Trains())
	need, all := run.MemoryNeed(run.Spec()), whole.MemoryNeed(run.Spec())
	assert.Zero(t, need.Moments+need.Gradients)
	assert.Equal(t, need.Activations, all.Activations)
	canonical, err := whole.Canonical()
	require.NoError(t, err)
	assert.NotContains(t, canonical, "lora", "old runs keep their identity")
	canonical, err = run.Canonical()
	require.NoError(t, err)
	assert.Contains(t, canonical, "train.lora.rank: 4\ntrain.lora.targets: [q_proj]")
	for want, section := range map[string]string{
		"train.lora.rank: want >= 1 with train.lora.targets, got 0": "{targets: [a]}",
		"train.lora.targets: want the weights that get adapters":    "{rank: 4}",
		"train.lora.alpha: want > 0, got 0":                         "{rank: 4, alpha: 0, targets: [a]}",
		`train.lora.targets: want globs such as "*.mlp.*", got "["`: `{rank: 4, targets: ["["]}`,
		"train.lora.rank: want >= 0, got -1":                        "{rank: -1, targets: [a]}",
	} {
		_, err := load("train.lora="+section, "train.init_from=base")
		assert.ErrorContains(t, err, want)
	}
	_, err = load("train.lora={rank: 4, targets: [a]}")
	assert.ErrorContains(t, err, "train.lora: want train.init_from with it")
}
