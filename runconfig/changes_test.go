package runconfig

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChangesNameEachKeyThatWasChanged(t *testing.T) {
	const text = "model: {preset: quickstart}\ntrain: {steps: 10, lr: 1e-3}\n"
	before, _, err := Parse(zoo, "q.yaml", []byte(text), nil)
	require.NoError(t, err)
	for _, c := range []struct {
		sets []string
		want []string
	}{
		{nil, nil},
		{[]string{"out=runs/moved"}, nil},
		{[]string{"train.lr=1e-4"}, []string{"train.lr: 0.001 -> 0.0001"}},
		{[]string{"train.min_lr=1e-4"}, nil},
		{[]string{"train.min_lr=0"}, []string{"train.min_lr: 0.0001 -> 0"}},
		{[]string{"train.steps=20", "data.path=[a, b c]", "sample.prompt='x y'"},
			[]string{`data.path: null -> [a, "b c"]`, "train.steps: 10 -> 20", `sample.prompt: "" -> "x y"`}},
		{[]string{"model.mup.base.stream.dk=16"}, []string{"model.mup.base.stream.dk: nothing -> 16", "model.mup.base.stream.dv: nothing -> 0", "model.mup.base.stream.rank: nothing -> 0"}},
		{[]string{"model.stream.dk=16"}, []string{"model.stream.dk: 32 -> 16"}},
	} {
		after, _, err := Parse(zoo, "q.yaml", []byte(text), c.sets)
		require.NoError(t, err)
		got, err := Changes(before, after)
		require.NoError(t, err)
		assert.ElementsMatch(t, c.want, got, c.sets)
	}
}
