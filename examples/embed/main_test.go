package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStockTrainingLearns: a block of ours between stock layers learns under stock
// gorgonia.Grad and a stock solver, to below what any constant guess reaches.
func TestStockTrainingLearns(t *testing.T) {
	losses, err := train(steps)
	require.NoError(t, err)
	require.Greater(t, losses[0], 0.3)
	require.Less(t, mean(losses[steps-50:]), 0.15)
}
