package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestStaticFactorsAreWideStreams: with static factors and nothing added to them, independent
// hyper-connections compute what a wide residual of the same numbers computes.
func TestStaticFactorsAreWideStreams(t *testing.T) {
	const n = 3
	ihc := modeltest.Resolve(t, tinyZoo(stream.IHCConfig{N: n, Static: true}, plainly))
	wide := modeltest.Resolve(t, tinyZoo(stream.WideConfig{N: n}, plainly))
	theirs, ours := modeltest.PerturbedStore(t, wide, tensor.Float64), modeltest.NewStore(t, ihc, tensor.Float64, 0)
	set := func(name string, values []float64) {
		require.NotNil(t, ours.Param(name), name)
		require.NoError(t, graph.SetFloat64s(ours.Param(name).Value, values))
	}
	of := func(name string) []float64 { return graph.Float64s(theirs.Param(name).Value) }
	for _, p := range ours.Params() {
		if theirs.Param(p.Name) != nil {
			set(p.Name, of(p.Name))
		}
	}
	sites(2, func(prefix string) { set(prefix+"ihc.b", append(of(prefix+"wide.read"), of(prefix+"wide.write")...)) })
	set("head.b", of("wide.read"))
	b := modeltest.RandomBatch(ihc, 2, ihc.Seq, 3)
	want := modeltest.Compile(t, wide, theirs, modeltest.Setup{}).On(t, b)
	got := modeltest.Compile(t, ihc, ours, modeltest.Setup{}).On(t, b)
	largest := 0.
	for _, v := range want.Logits {
		largest = max(largest, math.Abs(v))
	}
	assert.LessOrEqual(t, modeltest.Distance(got.Logits, want.Logits), 1e-13*largest)
}
