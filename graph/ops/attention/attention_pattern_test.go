package attention

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
)

// patternOptions returns options with each setting by itself and with all of them.
func patternOptions() map[string]Options {
	return map[string]Options{
		"plain":      {Heads: 3, Seq: 3, Scale: 0.3},
		"alibi":      {Heads: 2, Seq: 5, Scale: 0.5, Slopes: []float64{0.5, 0.0625}},
		"rope":       {Heads: 2, Seq: 5, Scale: 0.5, RopeBase: 100},
		"everything": {Heads: 3, Seq: 5, Scale: 0.5, Slopes: []float64{1, 0.5, 0.25}, RopeBase: 10000},
		"grouped":    {Heads: 6, KVHeads: 2, Seq: 5, Scale: 0.5, RopeBase: 100},
	}
}

// windowOptions returns options with a window.
func windowOptions() map[string]Options {
	return map[string]Options{
		"window":             {Heads: 2, Seq: 7, Scale: 0.5, Slopes: []float64{0.5, 0.25}, Window: 2},
		"window, everything": {Heads: 4, KVHeads: 2, Seq: 8, Scale: 0.5, RopeBase: 100, Window: 2, Sinks: 2},
	}
}

// softCapOptions returns options with a soft cap; one has several spans of queries and keys.
func softCapOptions() map[string]Options {
	return map[string]Options{
		"soft cap":             {Heads: 2, Seq: 5, Scale: 0.9, SoftCap: 0.7, Slopes: []float64{0.5, 0.25}},
		"soft cap, everything": {Heads: 4, KVHeads: 2, Seq: 8, Scale: 0.9, SoftCap: 1.2, RopeBase: 100, Window: 3, Sinks: 1},
		"soft cap, long":       {Heads: 1, Seq: 90, Scale: 0.5, SoftCap: 0.5, Window: 20},
	}
}

// patternCases returns cases of Pattern, of Mix and of both together, which are attention.
func patternCases(options map[string]Options) []optest.Case {
	const batch, headDim = 2, 4
	var cases []optest.Case
	for _, name := range slices.Sorted(maps.Keys(options)) {
		o := options[name]
		tokens := batch * o.Seq
		c := optest.Case{Floats: [][]int{{tokens, o.packedHeads(), headDim}}}
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
		pattern, both, mix := c, c, optest.Case{Floats: [][]int{{tokens, o.Heads, o.Seq}, c.Floats[0]}}
		pattern.Name, both.Name, mix.Name = "CausalAttention/pattern, "+name, "CausalAttention/pattern and mix, "+name, "AttentionMix/"+name
		pattern.Build = func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node { return Pattern(b, x[0], with(ids)) }
		pattern.Want = func(x [][]float64, ids [][]int32) []float64 {
			return wantPattern(x[0], startsIn(ids), batch, headDim, o)
		}
		both.Build = func(b *graph.Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			return Mix(b, Pattern(b, x[0], with(ids)), x[0], o)
		}
		both.Want = func(x [][]float64, ids [][]int32) []float64 {
			return wantAttention(x[0], startsIn(ids), batch, headDim, o)
		}
		mix.Build = func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return Mix(b, x[0], x[1], o) }
		mix.Want = func(x [][]float64, _ [][]int32) []float64 { return wantAttentionMix(x[0], x[1], headDim, o) }
		cases = append(cases, pattern, both, mix)
	}
	return cases
}

func startsIn(ids [][]int32) []int32 {
	if len(ids) == 0 {
		return nil
	}
	return ids[0]
}

// wantPattern takes qkv [batch*seq, heads + 2 kvHeads, headDim]. It finds the probabilities from
// the attention's outputs for values that are 1 at one key and 0 elsewhere.
func wantPattern(qkv []float64, starts []int32, batch, headDim int, o Options) []float64 {
	prob := make([]float64, batch*o.Seq*o.Heads*o.Seq)
	probe := append([]float64(nil), qkv...)
	for key := range o.Seq {
		for at := range probe {
			if head := at / headDim % o.packedHeads(); head >= o.Heads+o.kv() {
				probe[at] = 0
				if at/headDim/o.packedHeads()%o.Seq == key {
					probe[at] = 1
				}
			}
		}
		for query, y := range wantAttention(probe, starts, batch, headDim, o) {
			prob[query/headDim*o.Seq+key] = y
		}
	}
	return prob
}

// wantAttentionMix takes the pattern [batch*seq, heads, seq] and qkv.
func wantAttentionMix(pattern, qkv []float64, headDim int, o Options) []float64 {
	y := make([]float64, len(pattern)/o.Seq*headDim)
	for at := range y {
		token, head, entry := at/headDim/o.Heads, at/headDim%o.Heads, at%headDim
		for j := range o.Seq {
			key := token/o.Seq*o.Seq + j
			y[at] += pattern[(token*o.Heads+head)*o.Seq+j] * qkv[(key*o.packedHeads()+o.packedHead(2, head))*headDim+entry]
		}
	}
	return y
}

// attended computes a loss over an attention of a parameter, in one op or split into Pattern and
// Mix.
func attended(t *testing.T, dt tensor.Dtype, o Options, split bool, seen graph.HookFunc) (p *graph.Program, y *gorgonia.Node) {
	t.Helper()
	options := graph.Options{Threads: 2, DType: dt, Seed: 3, Hooks: graph.Hooks{"pattern": seen}}
	p, err := graph.Compile(graph.ProgramOptions{Options: options, Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
		o := o
		o.Starts = b.Input("starts", tensor.Int32, 2, o.Seq)
		qkv := elementwise.Gelu(b, b.Param(graph.ParamSpec{Name: "qkv", Shape: []int{2 * o.Seq, o.packedHeads() * 4}, Init: graph.Normal(1)}), false)
		if split {
			y = Mix(b, b.Hook("pattern", Pattern(b, qkv, o), "head", "key"), qkv, o)
		} else {
			y = Causal(b, qkv, o)
		}
		w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{o.Heads * 4, 7}, Init: graph.Normal(1)})
		return graph.Roots{Loss: loss.CrossEntropy(b, y, w, b.Input("targets", tensor.Int32, 2*o.Seq), loss.Options{}), Outputs: gorgonia.Nodes{y}}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	r := rand.New(rand.NewPCG(1, 2))
	for i, starts := 0, p.Ints("starts"); i < len(starts); i++ {
		starts[i], p.Ints("targets")[i] = optest.StartsOf(o.Seq)(r, i), int32(r.IntN(7))
	}
	require.NoError(t, p.Run(graph.RunOptions{}))
	return p, y
}

// TestPatternAndMixAreAttention: with every option and document starts, output and gradients equal
// those of Causal, while a hook sees rows that sum to 1.
func TestPatternAndMixAreAttention(t *testing.T) {
	all := patternOptions()
	maps.Copy(all, windowOptions())
	for name, o := range all {
		o.Seq = 90 // more than a block of queries
		for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-6} {
			t.Run(name+"/"+dt.String(), func(t *testing.T) {
				want, wantY := attended(t, dt, o, false, nil)
				rows := 0
				got, y := attended(t, dt, o, true, func(_ string, x *tensor.Dense) error {
					require.Equal(t, tensor.Shape{2 * o.Seq, o.Heads, o.Seq}, x.Shape())
					for p := graph.Float64s(x); len(p) > 0; p, rows = p[o.Seq:], rows+1 {
						requireRow(t, p[:o.Seq], rows/o.Heads%o.Seq, tolerance)
					}
					return nil
				})
				require.Equal(t, 2*o.Seq*o.Heads, rows)
				requireNear(t, optest.ValuesOf(t, wantY.Value()), optest.ValuesOf(t, y.Value()), tolerance)
				for _, param := range want.Store().Params() {
					requireNear(t, graph.Float64s(param.Grad), graph.Float64s(got.Store().Param(param.Name).Grad), tolerance)
				}
				assert.Equal(t, want.ForwardFLOPs(), got.ForwardFLOPs())
			})
		}
	}
}

// requireRow checks that the probabilities of query i sum to 1 and are exactly 0 for later keys.
func requireRow(t *testing.T, p []float64, i int, tolerance float64) {
	sum := 0.0
	for j, v := range p {
		sum += v
		require.GreaterOrEqual(t, v, 0.0)
		if j > i {
			require.Zero(t, v)
		}
	}
	require.InDelta(t, 1, sum, tolerance)
}

// requireNear compares relative to the largest entry.
func requireNear(t *testing.T, want, got []float64, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want))
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(v))
	}
	require.InDeltaSlice(t, want, got, tolerance*largest)
}

// TestPatternReplaced: a pattern that a hook replaces is used as it is, with future tokens
// included.
func TestPatternReplaced(t *testing.T) {
	o := patternOptions()["plain"]
	_, y := attended(t, tensor.Float64, o, true, func(_ string, x *tensor.Dense) error {
		for i, p := 0, x.Float64s(); i < len(p); i++ {
			p[i] = 0
			if i%o.Seq == o.Seq-1 {
				p[i] = 2
			}
		}
		return nil
	})
	_, plain := attended(t, tensor.Float64, o, false, nil)
	got, width := optest.ValuesOf(t, y.Value()), o.Heads*4
	for at := range got {
		row := at / (o.Seq * width)
		require.Equal(t, got[(row*o.Seq)*width+at%width], got[at], "all tokens of a row sum the same")
	}
	require.NotEqual(t, optest.ValuesOf(t, plain.Value()), got)
}

// TestPatternFLOPs: a training step counts three times the forward pass, in both forms of
// attention.
func TestPatternFLOPs(t *testing.T) {
	o := patternOptions()["everything"]
	for _, split := range []bool{false, true} {
		p, _ := attended(t, tensor.Float32, o, split, nil)
		require.NoError(t, p.Run(graph.RunOptions{Profile: true}))
		require.Equal(t, 2*2*2*o.Heads*4*o.Seq*(o.Seq+1)/2+2*2*o.Seq*o.Heads*4*7, p.ForwardFLOPs())
		require.Equal(t, 3*p.ForwardFLOPs(), optest.Totals(p.Profile()).FLOPs, "split: %t", split)
	}
}

// TestPatternBadInputs checks the errors of the two ops.
func TestPatternBadInputs(t *testing.T) {
	o := Options{Heads: 2, Seq: 3}
	cache, err := graph.NewCache(2, 3)
	require.NoError(t, err)
	for want, c := range map[string]struct {
		cache        *graph.Cache
		pattern, qkv []int
		o            Options
		mix          bool
	}{
		"graph: AttentionPattern: want whole rows, got a cache of earlier tokens":                            {cache: cache, qkv: []int{6, 12}, o: o},
		"graph: AttentionMix: want whole rows, got a cache of earlier tokens":                                {cache: cache, pattern: []int{6, 2, 3}, qkv: []int{6, 12}, o: o, mix: true},
		"want [tokens, (heads+2*kv_heads)*Dh] with 2 heads of queries and 2 of keys and values, got (6, 13)": {qkv: []int{6, 13}, o: o},
		"want a multiple of seq 4 tokens, got (6, 12)":                                                       {qkv: []int{6, 12}, o: Options{Heads: 2, Seq: 4}},
		"slopes: want 2, one a head, got 1":                                                                  {qkv: []int{6, 12}, o: Options{Heads: 2, Seq: 3, Slopes: []float64{1}}},
		"pattern: want [tokens, heads, seq] = (6, 2, 3) for qkv (6, 12), got (6, 3, 2)": {
			pattern: []int{6, 3, 2}, qkv: []int{6, 12}, o: o, mix: true},
		"want [tokens, (heads+2*kv_heads)*Dh] with 2 heads of queries and 2 of keys and values, got (6, 14)": {pattern: []int{6, 2, 3}, qkv: []int{6, 14}, o: o, mix: true},
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{Cache: c.cache})
		qkv := b.Input("qkv", tensor.Float32, c.qkv...)
		if c.mix {
			require.Nil(t, Mix(b, b.Input("pattern", tensor.Float32, c.pattern...), qkv, c.o), want)
		} else {
			require.Nil(t, Pattern(b, qkv, c.o), want)
		}
		optest.RequireLine(t, b.Err(), "graph: ", want)
	}
}
