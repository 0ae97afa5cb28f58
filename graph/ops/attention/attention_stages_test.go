package attention

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/optest"
)

// stageCases returns cases of the stages: the rotation, the scores (of which the test sees the
// softmax, because they are -Inf where nothing is seen) and all stages with Mix, which are
// attention.
func stageCases() []optest.Case {
	const batch, headDim = 2, 4
	all := patternOptions()
	maps.Copy(all, windowOptions())
	var cases []optest.Case
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := all[name]
		c := optest.Case{Name: "AttentionStage/all, " + name, Floats: [][]int{{batch * o.Seq, o.packedHeads(), headDim}}}
		if strings.HasSuffix(name, "everything") {
			c.Ints, c.MayBeNil = []optest.IntInput{{Shape: []int{batch, o.Seq}, Draw: optest.StartsOf(o.Seq)}}, []int{1}
		}
		with := func(ids gorgonia.Nodes) Options {
			o := o
			if len(ids) > 0 {
				o.Starts = ids[0]
			}
			return o
		}
		c.Build = func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			o, qkv := with(ids), x[0]
			if o.RopeBase != 0 {
				qkv = Rotate(b, qkv, o)
				o.RopeBase = 0
			}
			return Mix(b, Softmax(b, Scores(b, qkv, o), o), qkv, o)
		}
		c.Want = func(x [][]float64, ids [][]int32) []float64 {
			return wantAttention(x[0], startsIn(ids), batch, headDim, o)
		}
		scores := c
		scores.Name = "AttentionStage/scores and softmax, " + name
		scores.Build = func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			return Softmax(b, Scores(b, x[0], with(ids)), with(ids))
		}
		scores.Want = func(x [][]float64, ids [][]int32) []float64 {
			return wantPattern(x[0], startsIn(ids), batch, headDim, o)
		}
		cases = append(cases, c, scores)
	}
	return cases
}

// TestStages: by hand, scores are scaled, biased by distance and -Inf after the query, and a
// rotation turns queries and keys, not values, by their positions.
func TestStages(t *testing.T) {
	o := Options{Heads: 1, Seq: 2, Scale: 0.5, Slopes: []float64{0.25}}
	qkv := []float64{1, 2, 3, 4, 5, 6, -1, 3, 2, 2, 7, 8} // [2, 3*2]
	run := func(f func(*graph.Builder, *gorgonia.Node) *gorgonia.Node) []float64 {
		var y *gorgonia.Node
		p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{DType: tensor.Float64}}, func(b *graph.Builder) (graph.Roots, error) {
			y = f(b, b.Input("x", tensor.Float64, 2, 6))
			return graph.Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
		})
		require.NoError(t, err)
		defer p.Close()
		copy(p.Input("x").Float64s(), qkv)
		require.NoError(t, p.Run(graph.RunOptions{}))
		return optest.ValuesOf(t, y.Value())
	}
	got := run(func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node { return Scores(b, x, o) })
	require.Equal(t, []float64{5.5, math.Inf(-1), 0.5*(-3+12) - 0.25, 0.5 * 4}, got)
	o.RopeBase = 10
	cos, sin := math.Cos(1), math.Sin(1)
	got = run(func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node { return Rotate(b, x, o) })
	require.InDeltaSlice(t, []float64{1, 2, 3, 4, 5, 6, -cos - 3*sin, 3*cos - sin, 2*cos - 2*sin, 2*cos + 2*sin, 7, 8}, got, 1e-15)
	require.True(t, attentionStage{stage: kernel.StageRotate}.CPUOnly())
}
