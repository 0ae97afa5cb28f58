package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
)

// TestOptimizerBasis: trained by plain SGD a model and its rotation stay the same function
// to rounding; where entries are treated one by one, by Adam or in gains, they part.
func TestOptimizerBasis(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]analysis.OptimizerOptions{
		"vector/bias":    {},
		"vector/rmsnorm": {},
		"matrix/rmsnorm": {RotationOptions: analysis.RotationOptions{Space: analysis.SpaceKey}},
		"matrix/bias":    {RotationOptions: analysis.RotationOptions{Space: analysis.SpaceValue}},
		"matrix/rope":    {RotationOptions: analysis.RotationOptions{Space: analysis.SpaceBoth}},
		"matrix/moe":     {},
	} {
		t.Run(name, func(t *testing.T) {
			all := vectorModels(t)
			if name[:6] == "matrix" {
				all = matrixModels(t)
			}
			c := all[name[7:]]
			store := modeltest.PerturbedStore(t, c, tensor.Float32)
			before := modeltest.Values(store)
			o.Steps, o.Threads = 10, 1
			b, err := analysis.CompareOptimizers(t.Context(), store, c, tokensFor(c, c.Seq, 3), o)
			require.NoError(t, err)
			assert.Equal(t, before, modeltest.Values(store))
			require.Len(t, b.Runs, 4)
			for _, r := range b.Runs {
				checkRun(t, r, o.Steps)
			}
			checkResult(t, b)
			t.Log("\n" + b.Table().Text())
		})
	}
}

func checkRun(t *testing.T, r analysis.OptimizerRun, steps int) {
	require.Len(t, r.Deviation, steps+1)
	require.Len(t, r.Loss, steps+1)
	assert.Less(t, r.Deviation[0], noise, r.Optimizer)
	assert.Less(t, r.Loss[steps], r.Loss[0], r.Optimizer)
	if r.Optimizer == "SGD" {
		assert.Less(t, floats.Max(r.Deviation), 1e-10)
		assert.InDeltaSlice(t, r.Loss, r.Rotated, 1e-10)
		return
	}
	assert.Greater(t, r.Deviation[steps], shown, r.Optimizer)
}

// TestOptimizerBasisErrors: what a call can get wrong is one line.
func TestOptimizerBasisErrors(t *testing.T) {
	c := vectorModels(t)["bias"]
	for want, call := range map[error]struct {
		ids []int32
		o   analysis.OptimizerOptions
	}{
		check.ValueError{Name: "ids", Got: "1"}:            {ids: []int32{1}},
		check.RangeError{Name: "token id", N: 13, Got: 13}: {ids: []int32{1, 13}},
		check.ValueError{Name: "optimizers: steps"}:        {ids: []int32{1, 2}, o: analysis.OptimizerOptions{Steps: -1}},
		models.ErrNoParameters:                             {ids: []int32{1, 2}},
		check.ValueError{Name: "space", Got: `"x"`}:        {ids: []int32{1, 2}, o: analysis.OptimizerOptions{RotationOptions: analysis.RotationOptions{Space: "x"}}},
	} {
		_, err := analysis.CompareOptimizers(t.Context(), nil, c, call.ids, call.o)
		assert.ErrorIs(t, err, want)
	}
	other := unsupporting(t, rotatable)
	_, err := analysis.CompareOptimizers(t.Context(), nil, other, []int32{1, 2}, analysis.OptimizerOptions{})
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: other.Stream.Name()})
	_, err = analysis.CompareOptimizers(t.Context(), modeltest.NewStore(t, c, tensor.Float32, 0), c, make([]int32, c.Seq+2), analysis.OptimizerOptions{})
	assert.ErrorContains(t, err, "want at most 9 tokens a row")
}
