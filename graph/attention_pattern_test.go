package graph

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// patternOptions are attentions with each option and with all of them.
func patternOptions() map[string]AttentionOptions {
	return map[string]AttentionOptions{
		"plain":      {Heads: 3, Seq: 3, Scale: 0.3},
		"alibi":      {Heads: 2, Seq: 5, Scale: 0.5, Slopes: []float64{0.5, 0.0625}},
		"rope":       {Heads: 2, Seq: 5, Scale: 0.5, RopeBase: 100},
		"everything": {Heads: 3, Seq: 5, Scale: 0.5, Slopes: []float64{1, 0.5, 0.25}, RopeBase: 10000},
	}
}

// patternCases are AttentionPattern, AttentionMix and both together, which are attention.
func patternCases() []opCase {
	const batch, headDim = 2, 4
	var cases []opCase
	for _, name := range []string{"plain", "alibi", "rope", "everything"} {
		o := patternOptions()[name]
		tokens := batch * o.Seq
		c := opCase{floats: [][]int{{tokens, 3, o.Heads, headDim}}}
		if name == "everything" {
			c.ints = []intInput{{[]int{batch, o.Seq}, startsOf(o.Seq)}}
		}
		with := func(ids gorgonia.Nodes) AttentionOptions {
			o := o
			if len(ids) > 0 {
				o.Starts = ids[0]
			}
			return o
		}
		pattern, both, mix := c, c, opCase{floats: [][]int{{tokens, o.Heads, o.Seq}, c.floats[0]}}
		pattern.name, both.name, mix.name = "CausalAttention/pattern, "+name, "CausalAttention/pattern and mix, "+name, "AttentionMix/"+name
		pattern.build = func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node { return b.AttentionPattern(x[0], with(ids)) }
		pattern.want = func(x [][]float64, ids [][]int32) []float64 {
			return wantPattern(x[0], startsIn(ids), batch, headDim, o)
		}
		both.build = func(b *Builder, x, ids gorgonia.Nodes) *gorgonia.Node {
			return b.AttentionMix(b.AttentionPattern(x[0], with(ids)), x[0], o)
		}
		both.want = func(x [][]float64, ids [][]int32) []float64 {
			return wantAttention(x[0], startsIn(ids), batch, headDim, o)
		}
		mix.build = func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node { return b.AttentionMix(x[0], x[1], o) }
		mix.want = func(x [][]float64, _ [][]int32) []float64 { return wantAttentionMix(x[0], x[1], headDim, o) }
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

// wantPattern takes qkv [batch*seq, 3, heads, headDim]. It reads the probabilities off the
// attention's outputs for values that are 1 at one key and 0 elsewhere.
func wantPattern(qkv []float64, starts []int32, batch, headDim int, o AttentionOptions) []float64 {
	prob := make([]float64, batch*o.Seq*o.Heads*o.Seq)
	probe, third := append([]float64(nil), qkv...), o.Heads*headDim
	for key := range o.Seq {
		for at := range probe {
			if at/third%3 == 2 {
				probe[at] = 0
				if at/third/3%o.Seq == key {
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
func wantAttentionMix(pattern, qkv []float64, headDim int, o AttentionOptions) []float64 {
	y := make([]float64, len(qkv)/3)
	for at := range y {
		token, head, entry := at/headDim/o.Heads, at/headDim%o.Heads, at%headDim
		for j := range o.Seq {
			key := token/o.Seq*o.Seq + j
			y[at] += pattern[(token*o.Heads+head)*o.Seq+j] * qkv[((key*3+2)*o.Heads+head)*headDim+entry]
		}
	}
	return y
}

// attended is a loss over an attention of a parameter, in either form.
func attended(t *testing.T, dt tensor.Dtype, o AttentionOptions, split bool, seen HookFunc) (p *Program, y *gorgonia.Node) {
	t.Helper()
	options := Options{Threads: 2, DType: dt, Seed: 3, Hooks: Hooks{"pattern": seen}}
	p, err := Compile(ProgramOptions{Options: options, Gradients: true}, func(b *Builder) (Roots, error) {
		o := o
		o.Starts = b.Input("starts", tensor.Int32, 2, o.Seq)
		qkv := b.Gelu(b.Param(ParamSpec{Name: "qkv", Shape: []int{2 * o.Seq, 3 * o.Heads * 4}, Init: Normal(1)}), false)
		if split {
			y = b.AttentionMix(b.Hook("pattern", b.AttentionPattern(qkv, o), "head", "key"), qkv, o)
		} else {
			y = b.CausalAttention(qkv, o)
		}
		w := b.Param(ParamSpec{Name: "w", Shape: []int{o.Heads * 4, 7}, Init: Normal(1)})
		return Roots{Loss: b.CrossEntropy(y, w, b.Input("targets", tensor.Int32, 2*o.Seq), LossOptions{}), Outputs: gorgonia.Nodes{y}}, b.Err()
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	r := rand.New(rand.NewPCG(1, 2))
	for i, starts := 0, p.Ints("starts"); i < len(starts); i++ {
		starts[i], p.Ints("targets")[i] = startsOf(o.Seq)(r, i), int32(r.IntN(7))
	}
	require.NoError(t, p.Run(RunOptions{}))
	return p, y
}

// TestPatternAndMixAreAttention: with every option and document starts, output and
// gradients are those of CausalAttention, while a hook sees rows that sum to 1.
func TestPatternAndMixAreAttention(t *testing.T) {
	for name, o := range patternOptions() {
		o.Seq = 90 // more than a block
		for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-6} {
			t.Run(name+"/"+dt.String(), func(t *testing.T) {
				want, wantY := attended(t, dt, o, false, nil)
				rows := 0
				got, y := attended(t, dt, o, true, func(_ string, x *tensor.Dense) error {
					require.Equal(t, tensor.Shape{2 * o.Seq, o.Heads, o.Seq}, x.Shape())
					for p := Float64s(x); len(p) > 0; p, rows = p[o.Seq:], rows+1 {
						requireRow(t, p[:o.Seq], rows/o.Heads%o.Seq, tolerance)
					}
					return nil
				})
				require.Equal(t, 2*o.Seq*o.Heads, rows)
				requireNear(t, valuesOf(t, wantY.Value()), valuesOf(t, y.Value()), tolerance)
				for _, param := range want.Store().Params() {
					requireNear(t, Float64s(param.Grad), Float64s(got.Store().Param(param.Name).Grad), tolerance)
				}
				assert.Equal(t, want.ForwardFLOPs(), got.ForwardFLOPs())
			})
		}
	}
}

// requireRow wants the probabilities of query i to sum to 1, with exactly 0 behind it.
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

// TestPatternReplaced: what a hook leaves is what values are summed by, future tokens
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
	got, width := valuesOf(t, y.Value()), o.Heads*4
	for at := range got {
		row := at / (o.Seq * width)
		require.Equal(t, got[(row*o.Seq)*width+at%width], got[at], "all tokens of a row sum the same")
	}
	require.NotEqual(t, valuesOf(t, plain.Value()), got)
}

// TestPatternFLOPs: a training step takes three forwards, whichever form attention has.
func TestPatternFLOPs(t *testing.T) {
	o := patternOptions()["everything"]
	for _, split := range []bool{false, true} {
		p, _ := attended(t, tensor.Float32, o, split, nil)
		require.NoError(t, p.Run(RunOptions{Profile: true}))
		require.Equal(t, 2*2*2*o.Heads*4*o.Seq*(o.Seq+1)/2+2*2*o.Seq*o.Heads*4*7, p.ForwardFLOPs())
		require.Equal(t, 3*p.ForwardFLOPs(), totals(p.Profile()).FLOPs, "split: %t", split)
	}
}

// TestPatternBadInputs lists what the two ops refuse.
func TestPatternBadInputs(t *testing.T) {
	o := AttentionOptions{Heads: 2, Seq: 3}
	cache, err := NewCache(2, 3)
	require.NoError(t, err)
	for want, c := range map[string]struct {
		cache        *Cache
		pattern, qkv []int
		o            AttentionOptions
		mix          bool
	}{
		"graph: AttentionPattern: want whole rows, got a cache of earlier tokens": {cache: cache, qkv: []int{6, 12}, o: o},
		"graph: AttentionMix: want whole rows, got a cache of earlier tokens":     {cache: cache, pattern: []int{6, 2, 3}, qkv: []int{6, 12}, o: o, mix: true},
		"want [tokens, 3*heads*Dh] with 2 heads, got (6, 13)":                     {qkv: []int{6, 13}, o: o},
		"want a multiple of seq 4 tokens, got (6, 12)":                            {qkv: []int{6, 12}, o: AttentionOptions{Heads: 2, Seq: 4}},
		"slopes: want 2, one a head, got 1":                                       {qkv: []int{6, 12}, o: AttentionOptions{Heads: 2, Seq: 3, Slopes: []float64{1}}},
		"pattern: want [tokens, heads, seq] = (6, 2, 3) for qkv (6, 12), got (6, 3, 2)": {
			pattern: []int{6, 3, 2}, qkv: []int{6, 12}, o: o, mix: true},
		"want [tokens, 3*heads*Dh] with 2 heads, got (6, 14)": {pattern: []int{6, 2, 3}, qkv: []int{6, 14}, o: o, mix: true},
	} {
		b := On(gorgonia.NewGraph(), Options{Cache: c.cache})
		qkv := b.Input("qkv", tensor.Float32, c.qkv...)
		if c.mix {
			require.Nil(t, b.AttentionMix(b.Input("pattern", tensor.Float32, c.pattern...), qkv, c.o), want)
		} else {
			require.Nil(t, b.AttentionPattern(qkv, c.o), want)
		}
		requireLine(t, b.Err(), "graph: ", want)
	}
}

// TestPatternFree: the free functions make what the Builder's methods make.
func TestPatternFree(t *testing.T) {
	for _, c := range patternCases() {
		if c.name != "CausalAttention/pattern and mix, rope" {
			continue
		}
		want := newStock(t, c, NewStore(tensor.Float64, 3)).results(t, c)
		c.build = func(_ *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			o := patternOptions()["rope"]
			p, err := AttentionPattern(x[0], o)
			require.NoError(t, err)
			y, err := AttentionMix(p, x[0], o)
			require.NoError(t, err)
			return y
		}
		require.Equal(t, want, newStock(t, c, NewStore(tensor.Float64, 3)).results(t, c))
	}
	_, err := AttentionPattern(nil, AttentionOptions{Heads: 1, Seq: 1})
	requireLine(t, err, "want a node, got nil")
	_, err = AttentionMix(nil, nil, AttentionOptions{Heads: 1, Seq: 1})
	requireLine(t, err, "want a node, got nil")
}
