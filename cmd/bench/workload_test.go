package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWorkloadsAreThoseOfTheComparison: sizes and FLOPs as the project's goals name them.
func TestWorkloadsAreThoseOfTheComparison(t *testing.T) {
	for i, want := range []struct {
		name              string
		batch, seq, vocab int
		millions          float64 // parameters
		megaFLOPs         float64 // a token, forward and backward
	}{
		{"rmt-46m", 8, 256, 50257, 45.8, 165},
		{"transformer-49m", 8, 256, 50257, 49.3, 183},
		{"byte-rmt", 16, 256, 257, 2.31, 16},
		{"byte-transformer", 16, 256, 257, 3.35, 21},
		{"rmt-134m", 4, 512, 50257, 134.3, 610},
		{"transformer-162m", 4, 512, 50257, 162.5, 770},
	} {
		w := workloads()[i]
		require.Equal(t, want.name, w.Name)
		require.NoError(t, w.Config.Validate())
		cost := w.Config.Cost()
		assert.Equal(t, []int{want.batch, want.seq, want.vocab}, []int{w.Batch, w.Config.Seq, w.Config.Vocab}, want.name)
		assert.InEpsilon(t, want.millions, float64(cost.Parameters)/1e6, 5e-3, want.name)
		assert.InEpsilon(t, want.megaFLOPs, float64(cost.TrainFLOPs())/1e6, 3e-2, want.name)
	}
}

// TestOrdersTravel: a child trains what the parent meant.
func TestOrdersTravel(t *testing.T) {
	for _, w := range append(workloads(), stockWorkload()) {
		text, err := json.Marshal(order{Workload: w})
		require.NoError(t, err)
		var got order
		require.NoError(t, json.Unmarshal(text, &got))
		assert.Equal(t, w, got.Workload)
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose("rmt-206m,byte-rmt,rmt-206m")
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	assert.Equal(t, 18, chosen[0].Config.Layers)
	assert.Equal(t, 4*512, chosen[0].tokens())
	all, err := choose("")
	require.NoError(t, err)
	assert.Equal(t, workloads(), all)
}

func TestGroupsPutSizesTogether(t *testing.T) {
	chosen, err := choose("byte-transformer,rmt-46m,rmt-206m,byte-rmt")
	require.NoError(t, err)
	var names [][]string
	for _, g := range groups(chosen) {
		var group []string
		for _, w := range g {
			group = append(group, w.Name)
		}
		names = append(names, group)
	}
	assert.Equal(t, [][]string{{"byte-transformer", "byte-rmt"}, {"rmt-46m"}, {"rmt-206m"}}, names)
}

func TestModelArguments(t *testing.T) {
	rmt, transformer := modelArguments(workloads()[0]), modelArguments(workloads()[1])
	assert.Equal(t, []string{"rmt", "--dk", "32", "--dv", "32", "--rank", "12", "--layers", "6", "--ff", "1536", "--vocab", "50257", "--seq", "256", "--batch", "8", "--gelu", "tanh"}, rmt)
	assert.True(t, slices.Contains(transformer, "--width"))
	assert.Equal(t, "transformer", transformer[0])
}
