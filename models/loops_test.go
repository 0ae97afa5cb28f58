package models_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// looped returns a change to a model with the given number of layers whose tokens pass blocks begin
// to end-1 several times.
func looped(layers, begin, end, loops int) func(c *models.Config) {
	return func(c *models.Config) { c.Layers, c.LoopBegin, c.LoopEnd, c.Loops = layers, begin, end, loops }
}

// TestLoopDepths checks which block is at each depth.
func TestLoopDepths(t *testing.T) {
	for _, test := range []struct {
		layers int
		loop   stream.Loop
		want   []int
	}{
		{3, stream.Loop{}, []int{0, 1, 2}},
		{3, stream.Loop{Begin: 1, End: 2, Times: 1}, []int{0, 1, 2}},
		{4, stream.Loop{Begin: 1, End: 3, Times: 3}, []int{0, 1, 2, 1, 2, 1, 2, 3}},
		{2, stream.Loop{End: 2, Times: 2}, []int{0, 1, 0, 1}},
		{3, stream.Loop{Begin: 2, End: 3, Times: 3}, []int{0, 1, 2, 2, 2}},
	} {
		var got []int
		for depth := range test.layers + test.loop.Further() {
			got = append(got, test.loop.Block(depth))
		}
		assert.Equal(t, test.want, got, "%+v", test.loop)
	}
	loop := stream.Loop{Begin: 1, End: 3, Times: 2}
	for name, want := range map[string]string{"blocks.4.attention.qkv": "blocks.2.attention.qkv", "blocks.5.x0": "blocks.3.x0", "blocks.0.attention.o": "blocks.0.attention.o",
		"norm": "norm", "blocks": "blocks", "blocks.x.y": "blocks.x.y"} {
		assert.Equal(t, want, loop.Parameter(name))
	}
}

// unrolledRows lists further models of a design that the test compares with themselves unrolled,
// and the loops that it leaves out, with the reason.
type unrolledRows struct {
	Models map[string]designrows.Model
	Not    map[string]string
}

// TestALoopIsTheModelUnrolled: a model with a loop has the same logits, to the last bit, as a model
// that has a block for each pass with the same weights; its gradients are the sums over the passes.
func TestALoopIsTheModelUnrolled(t *testing.T) {
	excepted := designrows.Read[unrolledRows](t, "unrolled")
	presets := modeltest.Small(models.Standard())
	for design, rows := range excepted {
		for name, m := range rows.Models {
			presets = append(presets, models.Preset{Name: design + "/" + name, Config: tinyOn(t, design, m)})
		}
	}
	for _, p := range append(presets, models.Preset{Name: "experts", Config: tinyVector(experts(3, 2))},
		models.Preset{Name: "fixed values", Config: tinyVector(func(c *models.Config) { c.Attention.ValueResidual = models.ValuesFixed })},
		models.Preset{Name: "options", Config: tinyVector(withOptions(true, "nanochat"))}) {
		for name, vary := range map[string]func(c *models.Config){"end": looped(3, 1, 3, 2), "middle": looped(4, 1, 2, 3), "all": looped(2, 0, 2, 2)} {
			if excepted[p.Config.Stream.Name()].Not[name] != "" || p.Config.Attention.ValueEmbeddings > 0 { // every other block has these, whatever the pass
				continue
			}
			config := p.Config
			vary(&config)
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				longtest.Select(t, name == "middle")
				checkUnrolled(t, modeltest.Resolve(t, config))
			})
		}
	}
}

func checkUnrolled(t *testing.T, spec models.Spec) {
	depth := spec.Depth()
	unrolled, err := spec.With(func(v *models.Config) { v.Layers, v.LoopBegin, v.LoopEnd, v.Loops = depth, 0, 0, 0 })
	require.NoError(t, err)
	store, own := modeltest.PerturbedStore(t, spec, tensor.Float64), modeltest.NewStore(t, unrolled, tensor.Float64, 0)
	of := map[string]string{}
	for _, p := range own.Params() {
		of[p.Name] = spec.ParameterName(p.Name)
		if q := store.Param(p.Name); q != nil && q.Unshared {
			of[p.Name] = p.Name
		}
		require.NotNil(t, store.Param(of[p.Name]), p.Name)
		require.NoError(t, graph.SetFloat64s(p.Value, graph.Float64s(store.Param(of[p.Name]).Value)), p.Name)
	}
	run := func(spec models.Spec, s *graph.Store) (modeltest.Result, map[string][]float64) {
		result := modeltest.Compile(t, spec, s, modeltest.Setup{Gradients: true}).On(t, modeltest.RandomBatch(spec, 2, spec.Seq, 1), graph.RunOptions{})
		return result, modeltest.Gradients(s)
	}
	got, gradients := run(spec, store)
	want, each := run(unrolled, own)
	require.Equal(t, want, got)
	sums := map[string][]float64{}
	for name, g := range each {
		if sums[of[name]] == nil {
			sums[of[name]] = make([]float64, len(g))
		}
		gonum.Add(sums[of[name]], g)
	}
	require.Equal(t, slices.Sorted(maps.Keys(sums)), slices.Sorted(maps.Keys(gradients)))
	for name, g := range gradients {
		require.InDeltaSlice(t, sums[name], g, 1e-12, name)
	}
}

// TestOnePassIsThePlainModel: a model with loops: 1 equals the model without a loop.
func TestOnePassIsThePlainModel(t *testing.T) {
	plain := modeltest.Resolve(t, tinyVector(plainly))
	once := modeltest.Resolve(t, tinyVector(looped(2, 1, 2, 1)))
	require.NoError(t, plain.SameModel(once))
	require.NoError(t, once.SameModel(plain))
	require.EqualError(t, plain.SameModel(modeltest.Resolve(t, tinyVector(looped(2, 1, 2, 2)))), "model.loops: want 1, got 2")
	assert.Equal(t, plain.Cost(), once.Cost())
	run := func(spec models.Spec) (modeltest.Result, map[string][]float64, map[string][]float64) {
		store := modeltest.NewStore(t, spec, tensor.Float32, 3)
		result := modeltest.Compile(t, spec, store, modeltest.Setup{Gradients: true}).On(t, modeltest.RandomBatch(spec, 2, spec.Seq, 1), graph.RunOptions{})
		return result, modeltest.Values(store), modeltest.Gradients(store)
	}
	want, values, gradients := run(plain)
	got, ownValues, ownGradients := run(once)
	assert.Equal(t, want, got)
	assert.Equal(t, values, ownValues)
	assert.Equal(t, gradients, ownGradients)
}

// TestConformanceLoops runs the suite on a loop of every stream: without long tests, of two.
func TestConformanceLoops(t *testing.T) {
	t.Parallel()
	cases := []conformanceCase{
		{"muP", tinyMatrix(all(matrixMuP, looped(2, 0, 2, 2)))},
		{"experts", tinyVector(all(experts(3, 2), looped(3, 1, 2, 2)))},
		{"value residual", tinyVector(func(c *models.Config) { looped(2, 0, 2, 2)(c); c.Attention.ValueResidual = models.ValuesLearned })},
	}
	seen := map[string]bool{}
	for _, p := range modeltest.Small(models.Standard()) {
		if name := p.Config.Stream.Name(); !seen[name] {
			seen[name] = true
			looped(2, 0, 1, 3)(&p.Config)
			cases = append(cases, conformanceCase{p.Name, p.Config})
		}
	}
	checkConformance(t, 2, cases)
}
