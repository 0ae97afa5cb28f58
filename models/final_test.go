package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
)

// TestFinal checks that a run reports each parameter's gradient once, in the order of FinalOrder,
// and adds nothing to it afterwards, also when it accumulates or recomputes.
func TestFinal(t *testing.T) {
	for _, kind := range smallStreams {
		for _, recompute := range []graph.Recompute{graph.RecomputeNone, graph.RecomputeBlock} {
			o := graph.ProgramOptions{Options: graph.Options{Threads: 1, Seed: 3}, Gradients: true, Recompute: recompute}
			p := compileModel(t, o, smallConfig(kind, "rope"), 2, 9)
			wake(t, p.Store())
			drawTokens(p.Ints("tokens"), 1)
			drawTokens(p.Ints("targets"), 2)
			require.NoError(t, p.Run(graph.RunOptions{}))
			var order []*graph.Param
			seen := map[string][]float64{}
			require.NoError(t, p.Run(graph.RunOptions{Accumulate: true, Final: func(param *graph.Param) {
				order = append(order, param)
				seen[param.Name] = graph.Float64s(param.Grad)
			}}))
			require.Equal(t, p.FinalOrder(), order)
			require.Len(t, order, len(p.Store().Params()))
			for _, param := range order {
				require.Equal(t, graph.Float64s(param.Grad), seen[param.Name], param.Name)
			}
		}
	}
}

// TestFinalIsEarly checks that most parameters' gradients are final before the backward pass ends:
// the last block's gradients come first.
func TestFinalIsEarly(t *testing.T) {
	p := compileModel(t, graph.ProgramOptions{Gradients: true}, smallConfig("matrix", "rope"), 2, 9)
	place := map[string]int{}
	for i, param := range p.FinalOrder() {
		place[param.Name] = i
	}
	for name, at := range place {
		if len(name) > 9 && name[:9] == "blocks.1." {
			require.Less(t, at, place["blocks.0."+name[9:]], name)
		}
	}
}
