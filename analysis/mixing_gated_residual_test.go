package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestNothingReachesByGates: a stream whose gates are no numbers has no coefficients from site to
// site.
func TestNothingReachesByGates(t *testing.T) {
	gated, ids := mixingModel(t, stream.GatedResidualConfig{N: 2, Rank: 2})
	_, err := analysis.Reach(modeltest.PerturbedStore(t, gated, tensor.Float64), gated, ids)
	require.ErrorIs(t, err, mixing.ErrNone)
}
