package analysis_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestLoopsAreTakenApartPassByPass: analyses of a model with a loop give the same results as those
// of the unrolled model, which has a block with the same weights for each pass.
func TestLoopsAreTakenApartPassByPass(t *testing.T) {
	for name, c := range map[string]models.Config{"vector": tiny(vectorOf(12), all(looped, biased)), "gated": tiny(vectorOf(12), all(looped, swiGLU)),
		"matrix": tinyMatrix(looped), "experts": tiny(vectorOf(12), all(looped, experts(3, 2)))} {
		t.Run(name, func(t *testing.T) {
			spec := modeltest.Resolve(t, c)
			store := modeltest.PerturbedStore(t, spec, tensor.Float64)
			unrolled := varied(t, spec, func(c *models.Config) { c.Layers, c.LoopBegin, c.LoopEnd, c.Loops = spec.Depth(), 0, 0, 0 })
			own := modeltest.NewStore(t, unrolled, tensor.Float64, 0)
			for _, p := range own.Params() {
				require.NoError(t, graph.SetFloat64s(p.Value, graph.Float64s(store.Param(spec.ParameterName(p.Name)).Value)))
			}
			for analysed, of := range loopAnalyses(tokensFor(spec, spec.Seq, 3)) {
				want, err := of(own, unrolled)
				require.NoError(t, err, analysed)
				got, err := of(store, spec)
				require.NoError(t, err, analysed)
				assert.JSONEq(t, text(t, want), text(t, got), analysed)
			}
		})
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	encoded, err := json.Marshal(v)
	require.NoError(t, err)
	return string(encoded)
}

// loopAnalyses are analyses of weights and of a run, by name.
func loopAnalyses(ids []int32) map[string]func(*graph.Store, models.Spec) (any, error) {
	return map[string]func(*graph.Store, models.Spec) (any, error){
		"circuits": func(s *graph.Store, spec models.Spec) (any, error) {
			circuits, err := analysis.FindCircuits(context.Background(), s, spec, analysis.CircuitOptions{})
			if err != nil {
				return nil, err
			}
			return circuits.Heads, nil
		},
		"composition": func(s *graph.Store, spec models.Spec) (any, error) {
			return analysis.Compose(context.Background(), s, spec, nil)
		},
		"erasure": func(s *graph.Store, spec models.Spec) (any, error) {
			return analysis.MeasureErasure(context.Background(), s, spec)
		},
		"wiring": func(s *graph.Store, spec models.Spec) (any, error) {
			return analysis.Wire(context.Background(), s, spec, analysis.WiringOptions{FDR: 1})
		},
		"heads": func(s *graph.Store, spec models.Spec) (any, error) {
			return ablateHeads(s, spec, ids, analysis.NextTokenLoss())
		},
		"paths": func(s *graph.Store, spec models.Spec) (any, error) {
			return analysis.MeasurePaths(context.Background(), s, spec, [][]int32{ids}, analysis.PathOptions{})
		},
		"tensor product": func(s *graph.Store, spec models.Spec) (any, error) {
			p, err := analysis.RunTensorProduct(s, spec, ids, 3, 1)
			if err != nil {
				return nil, err
			}
			return p.Output, nil
		},
		"bandwidth": func(s *graph.Store, spec models.Spec) (any, error) { return analysis.CountBandwidth(spec) },
	}
}
