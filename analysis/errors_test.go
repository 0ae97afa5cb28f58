package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
)

// TestErrorMessages: what a call gets wrong is one line, which names the thing, what was wanted and
// what was got. Other tests match errors by their types.
func TestErrorMessages(t *testing.T) {
	c, other := zoo(t)["vector"], unsupporting(t, weighted)
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	ids := tokensFor(c, 4, 1)
	run, err := analysis.Run(store, c, ids)
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	for want, call := range map[string]func() error{
		"layer: want 0 to 3, got 4":                                       func() error { _, err := analysis.Patterns(run, 4); return err },
		"blocks.0.attention: head: want 0 to 2, got 3":                    func() error { _, err := d.Term("blocks.0.attention", 3, 0); return err },
		`no writer "blocks.0.atention"; did you mean blocks.0.attention?`: func() error { _, err := d.Term("blocks.0.atention", 0, 0); return err },
		`no activation "blocks.0.atention.heads"; did you mean blocks.0.attention.heads?`: func() error {
			_, err := cache.New(store, c, cache.Options{Names: []string{"blocks.0.atention.heads"}})
			return err
		},
		`activation "features": want one that the run keeps, got a run that keeps embedding.out: add it to Options.Names`: func() error {
			r, err := cache.New(store, c, cache.Options{Names: []string{"embedding.out"}, Seq: 4})
			require.NoError(t, err)
			defer r.Close()
			_, err = r.Run(ids, cache.Ablate("features", nil))
			return err
		},
		"want a stream to which heads and feed-forwards write linearly, got the " + other.Stream.Name() + " stream": func() error {
			_, err := analysis.Fold(modeltest.NewStore(t, other, tensor.Float32, 0), other)
			return err
		},
		"reader: want a reader after blocks.1.attention.0, got blocks.0.attention.0.q, which reads before it": func() error {
			_, err := analysis.Connect(store, c, "blocks.1.attention.0", "blocks.0.attention.0.q", nil)
			return err
		},
		"fdr: want a rate above 0, at most 1, or 0 for 0.05, got 2": func() error {
			_, err := analysis.Wire(t.Context(), store, c, analysis.WiringOptions{FDR: 2})
			return err
		},
		"prompt: want at least 1 token, got none": func() error { _, err := analysis.Run(store, c, nil); return err },
		"want a store with a model's parameters, got an empty one: read a model with pretrained.Open": func() error {
			_, _, err := analysis.FoldNorms(nil, c)
			return err
		},
		"row 1: want at least 2 tokens, so that one has a successor, got 1": func() error {
			_, err := analysis.MeasurePaths(t.Context(), store, c, [][]int32{ids, ids[:1]}, analysis.PathOptions{})
			return err
		},
		"tokens: want at least 64 for 4 directions, half to find them and half to measure them, got 4": func() error {
			_, err := analysis.FindDirections(t.Context(), store, c, [][]int32{ids}, analysis.DirectionsOptions{Count: 4})
			return err
		},
		"draws: want at least 2, got 1": func() error {
			_, err := analysis.FindHeadSpaces(t.Context(), store, c, 1)
			return err
		},
		`with: want zero, mean or resample, got "median"`: func() error {
			_, err := analysis.NewAblations(t.Context(), store, c, [][]int32{ids}, nil, "median")
			return err
		},
		"with resample: want at least 2 rows of text, of which one lends its values to another, got 1": func() error {
			_, err := analysis.NewAblations(t.Context(), store, c, [][]int32{ids}, nil, analysis.ReplaceResample)
			return err
		},
		"with resample: want rows of as many tokens, got rows of 4 and 3": func() error {
			_, err := analysis.NewAblations(t.Context(), store, c, [][]int32{ids, ids[:3]}, nil, analysis.ReplaceResample)
			return err
		},
		"model: want a Spec that Config.Resolve made, got the zero value": func() error {
			_, err := analysis.DrawRotation(models.Spec{}, analysis.RotationOptions{})
			return err
		},
		"corrupt: want as many tokens as the clean prompt has, 4, got 3": func() error {
			_, err := analysis.PatchStream(t.Context(), store, c, ids, ids[:3], analysis.NextTokenLoss())
			return err
		},
	} {
		assert.EqualError(t, call(), want)
	}
}
