package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// noise is above the rounding of float64 logits, and far below what a breaker does.
const noise = 1e-12

// shown is above which a breaker of these random models moves the logits.
const shown = 1e-3

// breaks tells whether a row's model has something that its rotations don't leave as it is.
func breaks(row analysis.RotationRow, unitGains bool) bool {
	mean := row.Norm == models.NormLayer && !row.KeepOnes
	switch row.Breaker {
	case analysis.BreakerMean:
		return mean
	case analysis.BreakerGains:
		return !unitGains
	case analysis.BreakerRoPE:
		return row.Space == analysis.SpaceValue || row.Space == analysis.SpaceBoth
	case analysis.BreakerAll:
		return mean || !unitGains
	}
	return false
}

// TestRotationReport: each breaker alone moves the logits where the model has it, and
// nothing does where it does not.
func TestRotationReport(t *testing.T) {
	t.Parallel()
	for kind, all := range map[string]map[string]models.Spec{"vector": vectorModels(t), "matrix": matrixModels(t)} {
		for name, c := range all {
			for _, unitGains := range []bool{false, true} {
				t.Run(kind+"/"+name, func(t *testing.T) {
					longtest.Select(t, unitGains || name == "layernorm" || name == "rmsnorm")
					store := modeltest.PerturbedStore(t, c, tensor.Float64)
					if unitGains {
						withUnitGains(t, store)
					}
					before := modeltest.Values(store)
					r, err := analysis.MeasureRotation(t.Context(), store, c, tokensFor(c, c.Seq, 3), analysis.RotationReportOptions{Seeds: 2})
					require.NoError(t, err)
					assert.Equal(t, before, modeltest.Values(store))
					checkBreakers(t, r, c, unitGains)
					checkResult(t, r)
				})
			}
		}
	}
}

func checkBreakers(t *testing.T, r *analysis.RotationReport, spec models.Spec, unitGains bool) {
	has := map[string]int{}
	for _, row := range r.Rows {
		has[row.Breaker]++
		assert.GreaterOrEqual(t, row.Worst, row.Mean)
		broken := breaks(row, unitGains)
		if on[stream.MatrixConfig](spec) && spec.Attention.Positions == models.PositionsRoPE && row.Space != analysis.SpaceKey {
			broken = broken || row.Breaker == analysis.BreakerAll
		}
		if broken {
			assert.Greater(t, row.Mean, shown, "%+v", row)
		} else {
			assert.Less(t, row.Worst, noise, "%+v", row)
		}
	}
	assert.Equal(t, spec.Norm == models.NormLayer, has[analysis.BreakerMean] > 0)
	assert.Equal(t, spec.Attention.Positions == models.PositionsRoPE, has[analysis.BreakerRoPE] > 0)
	assert.Equal(t, on[stream.VectorConfig](spec), has[analysis.BreakerFolded] > 0)
	spaces := 1
	if on[stream.MatrixConfig](spec) {
		spaces = 3
	}
	for _, breaker := range []string{analysis.BreakerNone, analysis.BreakerGains, analysis.BreakerAll} {
		assert.Equal(t, spaces, has[breaker], breaker)
	}
}

// TestRotationReportOfScaledRope: a model whose rotary positions have settings of their own, as
// imported models have, is measured, too.
func TestRotationReportOfScaledRope(t *testing.T) {
	c := varied(t, vectorModels(t)["rmsnorm"], func(c *models.Config) {
		c.Attention.Positions, c.Attention.RopePart, c.Attention.NoRope = models.PositionsRoPE, 0.5, []int{1}
		c.Attention.RopeScaling = layers.RopeScaling{Type: layers.RopeLinear, Factor: 2}
	})
	r, err := analysis.MeasureRotation(t.Context(), modeltest.PerturbedStore(t, c, tensor.Float64), c, tokensFor(c, c.Seq, 3), analysis.RotationReportOptions{})
	require.NoError(t, err)
	checkBreakers(t, r, c, false)
}

// TestRotationReportOfGPT2: of a GPT-2 as Hugging Face saves it, in float32, only the folded
// rotation leaves the logits as they are.
func TestRotationReportOfGPT2(t *testing.T) {
	p := gpt2(t)
	r, err := analysis.MeasureRotation(t.Context(), p.Store, p.Spec, tokensFor(p.Spec, 12, 3), analysis.RotationReportOptions{})
	require.NoError(t, err)
	for _, row := range r.Rows {
		switch row.Breaker {
		case analysis.BreakerNone, analysis.BreakerFolded:
			assert.Less(t, row.Worst, 1e-4, "%+v", row)
		default:
			assert.Greater(t, row.Worst, 1e-3, "%+v", row)
		}
	}
	t.Log("\n" + r.Table().Text())
}
