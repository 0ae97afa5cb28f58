package models_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// hookNames lists every activation that models name, on matrix and vector streams.
func hookNames(spec models.Spec) []string {
	feedForward := []string{"feedforward.hidden", "feedforward.activations"}
	if spec.FeedForwardShape().Experts > 0 {
		feedForward = []string{"feedforward.gates", "feedforward.experts"}
	}
	names := []string{"embedding.out", "norm.out", "features", "logits"}
	for l := range spec.Layers {
		for _, n := range append(feedForward, "attention.norm.out", "attention.qkv", "attention.q", "attention.k", "attention.v", "attention.scores", "attention.pattern", "attention.heads", "attention.write", "attention.stream",
			"feedforward.norm.out", "feedforward.in", "feedforward.out", "feedforward.write", "feedforward.stream") {
			names = append(names, fmt.Sprintf("blocks.%d.%s", l, n))
		}
	}
	return names
}

// TestHooks: every name can be watched; watching changes nothing, replacing a value by
// itself changes nothing, replacing it by another reaches the logits.
func TestHooks(t *testing.T) {
	for name, c := range map[string]models.Config{
		"matrix":      tinyMatrix(plainly),
		"matrix/bias": tinyMatrix(biased),
		"matrix/moe":  tinyMatrix(experts(3, 2)),
		"vector":      tinyVector(plainly),
		"vector/moe":  tinyVector(all(experts(3, 1), biased)),
	} {
		t.Run(name, func(t *testing.T) {
			c := modeltest.Resolve(t, c)
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			b := modeltest.RandomBatch(c, 2, c.Seq, 1)
			want := modeltest.Compile(t, c, store, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
			hooks := graph.Hooks{}
			for _, hook := range hookNames(c) {
				hooks[hook] = nil
				checkHook(t, c, store, b, hook, want)
			}
			p := modeltest.Compile(t, c, store, modeltest.Setup{Hooks: hooks, Gradients: true, Auxiliary: models.Auxiliary{BalanceLoss: 0.1}})
			assert.LessOrEqual(t, modeltest.Distance(p.On(t, b, graph.RunOptions{}).Logits, want), 1e-12, "all at once")
			checkStreamHooks(t, c, p.Program)
		})
	}
}

// splitConfigs returns models of every stream, with dense feed-forwards and with mixtures, and with
// every option of attention.
func splitConfigs() map[string]models.Config {
	masked := func(c *models.Config) { c.MaskDocuments = true }
	configs := map[string]models.Config{
		"matrix/authors": tinyMatrix(authors),
		"matrix/rope":    tinyMatrix(ropeExactLeCun),
		"matrix/moe":     tinyMatrix(experts(3, 2)),
		"vector/authors": tinyVector(authors),
		"vector/moe":     tinyVector(experts(3, 2)),
		"mhc/moe":        tinyZoo(stream.MHCConfig{N: 2}, all(masked, experts(3, 2))),
	}
	for _, p := range modeltest.Small(models.Standard()) {
		masked(&p.Config)
		configs[p.Name] = p.Config
	}
	return configs
}

// TestSplitHooks: when hooks make attention and mixtures run in split form, logits and gradients
// equal those of the fused form, and attention patterns are probabilities over the visible tokens.
func TestSplitHooks(t *testing.T) {
	for name, c := range splitConfigs() {
		for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-6} {
			t.Run(name+"/"+dt.String(), func(t *testing.T) { checkSplit(t, modeltest.Resolve(t, c), dt, tolerance) })
		}
	}
}

func checkSplit(t *testing.T, spec models.Spec, dt tensor.Dtype, tolerance float64) {
	store := modeltest.PerturbedStore(t, spec, dt)
	b := modeltest.RandomBatch(spec, 2, spec.Seq, 1)
	b.Inputs[spec.Seq/2] = int32(spec.BOS)
	balanced := models.Auxiliary{BalanceLoss: 0.1}
	want := modeltest.Compile(t, spec, store, modeltest.Setup{Gradients: true, Auxiliary: balanced}).On(t, b, graph.RunOptions{})
	gradients := gradientsOf(store)
	hooks := graph.Hooks{}
	for l := range spec.Layers {
		hooks[site(l, "attention")+"pattern"] = nil
		if spec.FeedForwardShape().Experts > 0 {
			hooks[site(l, "feedforward")+"gates"], hooks[site(l, "feedforward")+"experts"] = nil, nil
		}
	}
	p := modeltest.Compile(t, spec, store, modeltest.Setup{Gradients: true, Auxiliary: balanced, Hooks: hooks})
	got := p.On(t, b, graph.RunOptions{})
	if dt == tensor.Float32 { // both are equally far from the exact values, because they differ by rounding alone
		exact := exactLogits(t, spec, store, b)
		assert.LessOrEqual(t, modeltest.Distance(want.Logits, exact), 2e-5, "the fused ones")
		assert.LessOrEqual(t, errorNorm(got.Logits, exact), max(tolerance, 2*errorNorm(want.Logits, exact)), "logits")
	} else {
		assert.LessOrEqual(t, modeltest.Distance(got.Logits, want.Logits), tolerance, "logits")
	}
	assert.InDelta(t, want.Loss, got.Loss, tolerance*want.Loss)
	if dt == tensor.Float64 { // in float32 they differ by several roundings of each layer
		assert.LessOrEqual(t, modeltest.Distance(gradientsOf(store), gradients), tolerance, "gradients")
	}
	for l := range spec.Layers {
		x, err := p.Hooked(site(l, "attention") + "pattern")
		require.NoError(t, err)
		checkPattern(t, spec, x, tolerance)
	}
}

// errorNorm returns |got - exact| / |exact|, with the norms of vectors, because rounding changes
// these less than the largest entry.
func errorNorm(got, exact []float64) float64 {
	var difference mat.VecDense
	want := mat.NewVecDense(len(exact), exact)
	difference.SubVec(mat.NewVecDense(len(got), got), want)
	return mat.Norm(&difference, 2) / mat.Norm(want, 2)
}

// exactLogits computes the logits from the same weights in float64.
func exactLogits(t *testing.T, spec models.Spec, store *graph.Store, b modeltest.Batch) []float64 {
	wide := modeltest.NewStore(t, spec, tensor.Float64, 0)
	for _, p := range store.Params() {
		require.NoError(t, graph.SetFloat64s(wide.Param(p.Name).Value, graph.Float64s(p.Value)))
	}
	return modeltest.Compile(t, spec, wide, modeltest.Setup{}).On(t, b, graph.RunOptions{}).Logits
}

// gradientsOf returns the gradients of all parameters, one after another.
func gradientsOf(store *graph.Store) []float64 {
	var all []float64
	for _, param := range store.Params() {
		all = append(all, graph.Float64s(param.Grad)...)
	}
	return all
}

// checkPattern requires that each row sums to 1 over the tokens that its token may see. With
// MaskDocuments the second document of the first row begins in its middle.
func checkPattern(t *testing.T, spec models.Spec, x *tensor.Dense, tolerance float64) {
	heads := x.Shape()[1]
	require.Equal(t, tensor.Shape{2 * spec.Seq, heads, spec.Seq}, x.Shape())
	for at, p := 0, graph.Float64s(x); at < len(p); at += spec.Seq {
		token, first, sum := at/spec.Seq/heads, 0, 0.0
		if spec.MaskDocuments && token < spec.Seq && token >= spec.Seq/2 {
			first = spec.Seq / 2
		}
		for j, v := range p[at : at+spec.Seq] {
			sum += v
			require.Equal(t, j >= first && j <= token%spec.Seq, v > 0, "token %d, key %d", token, j)
		}
		require.InDelta(t, 1, sum, tolerance)
	}
}

func checkHook(t *testing.T, spec models.Spec, store *graph.Store, b modeltest.Batch, name string, want []float64) {
	seen := 0
	change := func(got string, x *tensor.Dense) error {
		assert.Equal(t, name, got)
		if seen++; seen > 1 { // from the second run on
			of := x.Float64s()
			of[len(of)-1]++ // of the last token, and not of a query: the first's has no choice
			if strings.HasSuffix(name, ".gates") {
				for i := range of {
					of[i] *= 2 // the last expert may be none of the last token's
				}
			}
		}
		return nil
	}
	p := modeltest.Compile(t, spec, store, modeltest.Setup{Hooks: graph.Hooks{name: change}})
	watched := p.On(t, b, graph.RunOptions{}).Logits
	require.Equal(t, 1, seen, "%s: calls", name)
	assert.LessOrEqual(t, modeltest.Distance(watched, want), 1e-12, "%s: watched", name)
	changed := p.On(t, b, graph.RunOptions{}).Logits
	assert.Greater(t, modeltest.Distance(changed, want), 1e-9, "%s: changed", name)
	_, err := p.Hooked(name + "x")
	assert.ErrorContains(t, err, `hook "`+name+`x": want a name that Options.Hooks lists and the model has`)
}

// checkStreamHooks: each site adds what it writes to the stream.
func checkStreamHooks(t *testing.T, spec models.Spec, p *graph.Program) {
	value := func(name string) []float64 {
		x, err := p.Hooked(name)
		require.NoError(t, err, name)
		return graph.Float64s(x)
	}
	state := value("embedding.out")
	for l := range spec.Layers {
		for _, kind := range []string{"attention", "feedforward"} {
			site := fmt.Sprintf("blocks.%d.%s", l, kind)
			for i, v := range value(site + ".write") {
				state[i] += v
			}
			require.InDeltaSlice(t, state, value(site+".stream"), 1e-11, site)
		}
	}
}

// TestAttentionHooks: with queries, keys and values, rotated ones and scores hooked, logits and
// gradients are as without, the pattern is the softmax of the scores, and only a model with rotary
// positions has rotated queries.
func TestAttentionHooks(t *testing.T) {
	for name, c := range splitConfigs() {
		t.Run(name, func(t *testing.T) {
			spec := modeltest.Resolve(t, c)
			store := modeltest.PerturbedStore(t, spec, tensor.Float64)
			b := modeltest.RandomBatch(spec, 2, spec.Seq, 1)
			want := modeltest.Compile(t, spec, store, modeltest.Setup{Gradients: true})
			logits := want.On(t, b, graph.RunOptions{}).Logits
			gradients, known := gradientsOf(store), want.Builder().ActivationNames()
			hooks, rotary := graph.Hooks{}, spec.Attention.Positions == models.PositionsRoPE
			for l := range spec.Layers {
				for _, part := range []string{"q", "k", "v", "q_rotated", "k_rotated", "scores", "pattern"} {
					rotated := strings.HasSuffix(part, "_rotated")
					require.Equal(t, rotary || !rotated, slices.Contains(known, site(l, "attention")+part), part)
					if rotary || !rotated {
						hooks[site(l, "attention")+part] = nil
					}
				}
			}
			p := modeltest.Compile(t, spec, store, modeltest.Setup{Gradients: true, Hooks: hooks})
			assert.LessOrEqual(t, modeltest.Distance(p.On(t, b, graph.RunOptions{}).Logits, logits), 1e-12, "logits")
			assert.LessOrEqual(t, modeltest.Distance(gradientsOf(store), gradients), 1e-12, "gradients")
			value := func(part string) []float64 {
				x, err := p.Hooked(site(spec.Layers-1, "attention") + part)
				require.NoError(t, err)
				return graph.Float64s(x)
			}
			pattern := value("pattern")
			for at, s := range slices.Collect(slices.Chunk(value("scores"), spec.Seq)) {
				sum := 0.0
				for _, v := range s {
					sum += math.Exp(v)
				}
				for j, v := range s {
					require.InDelta(t, pattern[at*spec.Seq+j], math.Exp(v)/sum, 1e-12)
				}
			}
		})
	}
}
