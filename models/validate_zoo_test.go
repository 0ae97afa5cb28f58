package models_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// badZoo are the refusals of the streams other than matrix and vector.
func badZoo() []refusal {
	on := func(d stream.Design) models.Config { return tinyZoo(d, plainly) }
	bad := []refusal{
		{"stream.n", "want >= 1, got -1", on(stream.HyperConfig{N: -1})},
		{"stream.n", "want >= 1, got -2", on(stream.MHCConfig{N: -2})},
		{"stream.n", "want 1 to 64 for the mhc stream, got 65", on(stream.MHCConfig{N: 65})},
		{"stream.n", "want >= 1, got -1", on(stream.MHCLiteConfig{N: -1})},
		{"stream.n", "want 1 to 4 for the mhc-lite stream, which mixes n! permutations, got 5: take the mhc stream", on(stream.MHCLiteConfig{N: 5})},
		{"stream.n", "want >= 1, got -1", on(stream.KromHCConfig{N: -1})},
		{"stream.n", "want a power of two up to 64 for the kromhc stream, got 6", on(stream.KromHCConfig{N: 6})},
		{"stream.n", "want a power of two up to 64 for the kromhc stream, got 128", on(stream.KromHCConfig{N: 128})},
		{"stream.n", "want >= 1, got -1", on(stream.GatedResidualConfig{N: -1})},
		{"stream.rank", "want >= 1, got -3", on(stream.GatedResidualConfig{Rank: -3})},
		{"stream.n", "want >= 1, got 0", on(stream.VWNConfig{M: 3})},
		{"stream.n", "want at least m 5, the slots that a sublayer reads, got 4", on(stream.VWNConfig{M: 5, N: 4})},
		{"stream.m", "want >= 1, got 0", on(stream.VWNConfig{N: 3})},
		{"stream.m", "want >= 1, got -3", on(stream.VWNConfig{M: -3, N: 3})},
		{"stream.m", "want a divisor of d_model 15, got 2", on(stream.VWNConfig{M: 2, N: 3})},
		{"stream.sinkhorn_iterations", "want >= 1, got -1", on(stream.MHCConfig{Iterations: -1})},
		{"stream.start_logit", "want at least -80 and below 0, got 1", on(stream.MHCConfig{StartLogit: 1})},
		{"stream.start_logit", "want at least -80 and below 0, got -100", on(stream.MHCConfig{StartLogit: -100})},
		{"stream.start_alpha", "want above 0 and at most 1, got -0.01", on(stream.MHCConfig{StartAlpha: -0.01})},
		{"stream.form", "want streams or latent, got \"rows\"", on(stream.WideConfig{Form: "rows"})},
		{"stream.n", "want 2 to 64 for the wide stream, got 1", on(stream.WideConfig{N: 1})},
		{"stream.n", "want 2 to 64 for the wide stream, got 65", on(stream.WideConfig{N: 65})},
		{"stream.width", "want form: latent with it, got form: streams", on(stream.WideConfig{Width: 20})},
		{"stream.max_forget", "want retention: true with it, got 0.1 alone", on(stream.WideConfig{MaxForget: 0.1})},
		{"stream.max_forget", "want above 0.001, what a site takes off at first, and at most 1, got 0.001", on(stream.WideConfig{Retention: true, MaxForget: 0.001})},
		{"stream.max_forget", "want above 0.001, what a site takes off at first, and at most 1, got 1.5", on(stream.WideConfig{Retention: true, MaxForget: 1.5})},
		{"stream.n", "want form: streams with it, got form: latent", on(stream.WideConfig{Form: "latent", N: 3})},
		{"stream.retention", "want form: streams with it, got form: latent", on(stream.WideConfig{Form: "latent", Retention: true})},
		{"stream.max_forget", "want form: streams with it, got form: latent", on(stream.WideConfig{Form: "latent", MaxForget: 0.1})},
		{"stream.width", "want >= 1, got -1", on(stream.WideConfig{Form: "latent", Width: -1})},
		{"stream.inner", "want >= 1, got -1", on(stream.HieraggConfig{Inner: -1})},
		{"stream.dilation", "want 1 to 2, the block of the last average (layers 2, period 1), got 3: no average would reach another output", tinyZoo(stream.DenseFormerConfig{Dilation: 3}, plainly)},
		{"stream.dilation", "want 1 to 3, the block of the last average (layers 4, period 3), got 4: no average would reach another output", tinyZoo(stream.DenseFormerConfig{Dilation: 4, Period: 3}, func(c *models.Config) { c.Layers = 4 })},
		{"stream.period", "want 1 to 2, the number of layers, got 3", tinyZoo(stream.DenseFormerConfig{Period: 3}, plainly)},
		{"layers", "want an even number for the hieragg stream, which aggregates pairs of blocks, got 3", tinyZoo(stream.HieraggConfig{}, func(c *models.Config) { c.Layers = 3 })},
		{"layers", "want an even number for the hieragg stream, which aggregates pairs of blocks, got 5 with those that a loop repeats", tinyZoo(stream.HieraggConfig{}, looped(3, 1, 3, 2))},
		{"loops", "want >= 1, got -1", tinyVector(looped(2, 0, 2, -1))},
		{"loops", "want how many times tokens pass blocks 0 to 1, got nothing", tinyVector(looped(3, 0, 2, 0))},
		{"loop_begin", "want one of the blocks, 0 to 1, got 2", tinyVector(looped(2, 2, 3, 2))},
		{"loop_begin", "want one of the blocks, 0 to 1, got -1", tinyVector(looped(2, -1, 1, 2))},
		{"loop_end", "want the block after the loop's last, 2 to 3, got 1", tinyVector(looped(3, 1, 1, 2))},
		{"loop_end", "want the block after the loop's last, 1 to 2, got 3", tinyVector(looped(2, 0, 3, 1))},
		{"loops", "want at most 4096 blocks on a token's way, got 4096 times 2 of 2: set loops lower", tinyVector(looped(2, 0, 2, 4096))},
		{"loops", "want at most 4096 blocks on a token's way, got 4611686018427387904 times 2 of 2: set loops lower", tinyVector(looped(2, 0, 2, 1<<62))},
		{"stream.gate", "want delta: true with it, got gate alone", tinyZoo(stream.AttnResConfig{Gate: true}, plainly)},
		{"stream.alpha", "want a positive number, got -1", tinyZoo(stream.KeelConfig{Alpha: -1}, plainly)},
		{"stream.form", "want paper or gemma, got \"gemma3\"", on(stream.LaurelConfig{Form: "gemma3"})},
		{"stream.weights", "want softmax, sigmoid or none, got \"tanh\"", on(stream.LaurelConfig{Weights: "tanh"})},
		{"stream.weights", "want weights, rank or previous, got none of them: take the vector stream", on(stream.LaurelConfig{Weights: "none"})},
		{"stream.weight_scale", "want a positive number, got -1", on(stream.LaurelConfig{WeightScale: -1})},
		{"stream.weight_scale", "want weights: softmax or sigmoid with it, got 3 without", on(stream.LaurelConfig{Weights: "none", WeightScale: 3, Rank: 1})},
		{"stream.rank", "want >= 0, got -1", on(stream.LaurelConfig{Rank: -1})},
		{"stream.previous", "want >= 0, got -1", on(stream.LaurelConfig{Previous: -1})},
		{"stream.weights", "want form: paper with it, got form: gemma", on(stream.LaurelConfig{Form: "gemma", Weights: "sigmoid"})},
		{"stream.weight_scale", "want weights: softmax or sigmoid with it, got 3 without", on(stream.LaurelConfig{Form: "gemma", WeightScale: 3})},
		{"stream.previous", "want form: paper with it, got form: gemma", on(stream.LaurelConfig{Form: "gemma", Previous: 1})},
		{"stream.split", "want 0 to 2, the number of layers, got 3", on(stream.TwoLaneConfig{Split: 3})},
		{"stream.split", "want 0 to 2, the number of layers, got -1", on(stream.TwoLaneConfig{Split: -1})},
		{"stream.split", "want 0 to 3, the number of layers, got 4", tinyZoo(stream.TwoLaneConfig{Split: 4}, looped(3, 1, 3, 2))},
		{"stream.split", "want a block outside the loop, or its first, 1, got 2", tinyZoo(stream.TwoLaneConfig{Split: 2}, looped(3, 1, 3, 2))},
		{"tie_embeddings", "want expand_embedding with it for the vwn stream, whose embedding is wider than d_model", tinyZoo(stream.VWNConfig{M: 3, N: 5}, tied)},
		{"feedforward.kind", "want a feed-forward for the hyper stream, which cannot do without, got none: choose another kind, or stream matrix or vector", tinyZoo(stream.HyperConfig{N: 2}, withFeedForward(layers.NoFeedForward{}))},
		{"feedforward", "want nothing for the dwlstm stream, whose blocks have no feed-forward, got kind gelu: remove it", tinyVector(onStream(stream.DWLSTMConfig{Vectors: width(15)}))},
		{"feedforward", "want nothing for the dwlstm stream, whose blocks have no feed-forward, got kind moe: remove it", tinyZoo(stream.DWLSTMConfig{}, withFeedForward(layers.MoEConfig{Hidden: 5, Experts: 4}))},
		{"stream.d_model", "want >= 1, got 0", tinyZoo(stream.DWLSTMConfig{}, onStream(stream.DWLSTMConfig{}))},
		{"attention.heads", "want a divisor of d_model 15, got 4", tinyZoo(stream.HyperConfig{}, withAttention(models.Attention{Heads: 4}))},
		{"bias", "rmsnorm has no bias: set bias to false or norm to layernorm", tinyZoo(stream.VWNConfig{M: 3, N: 3}, func(c *models.Config) { c.Norm, c.Bias = models.NormRMS, true })},
	}
	for _, base := range zooBases() {
		if _, known := base.Stream.(stream.MuPDesign); !known {
			base.MuP = &models.MuP{}
			bad = append(bad, refusal{"mup", fmt.Sprintf("want nothing for the %s stream, which muP is not known for", base.Stream.Name()), base})
		}
	}
	return bad
}

// badExperts are the refusals of mixtures of experts.
func badExperts() []refusal {
	return []refusal{
		{"feedforward.hidden", "want >= 1, got 0", tinyVector(withFeedForward(layers.MoEConfig{Experts: 4}))},
		{"feedforward.experts", "want >= 1, got -1", tinyVector(experts(-1, 0))},
		{"feedforward.experts", "want >= 1, got 0", tinyVector(experts(0, 2))},
		{"feedforward.top_k", "want 1 to 4, the number of experts, got 5", tinyVector(experts(4, 5))},
		{"feedforward.top_k", "want 1 to 4, the number of experts, got -1", tinyMatrix(experts(4, -1))},
	}
}

// TestMuPIsKnownForMatrixAndVector: for no other stream of the zoo is a muP base of use.
func TestMuPIsKnownForMatrixAndVector(t *testing.T) {
	var known []string
	for _, d := range models.Standard().Streams() {
		if _, ok := d.(stream.MuPDesign); ok {
			known = append(known, d.Name())
		}
	}
	assert.Equal(t, []string{"matrix", "vector"}, known)
}

// TestValidateAtTheEdge: what lies just inside the refusals builds, and costs what Cost says.
func TestValidateAtTheEdge(t *testing.T) {
	for name, config := range map[string]models.Config{
		"mhc of 64":          tinyZoo(stream.MHCConfig{Vectors: width(3), N: 64, Iterations: 1}, plainly),
		"mhc of 1":           tinyZoo(stream.MHCConfig{N: 1}, plainly),
		"mhc-lite of 4":      tinyZoo(stream.MHCLiteConfig{N: 4}, plainly),
		"mhc-lite of 1":      tinyZoo(stream.MHCLiteConfig{N: 1}, plainly),
		"kromhc of 64":       tinyZoo(stream.KromHCConfig{Vectors: width(3), N: 64}, plainly),
		"kromhc of 1":        tinyZoo(stream.KromHCConfig{N: 1}, plainly),
		"gated of 1":         tinyZoo(stream.GatedResidualConfig{N: 1, Rank: 1}, plainly),
		"wide of 64":         tinyZoo(stream.WideConfig{Vectors: width(3), N: 64, Retention: true, MaxForget: 1}, plainly),
		"latent of 1":        tinyZoo(stream.WideConfig{Form: "latent", Width: 1}, tied),
		"hyper of 1":         tinyZoo(stream.HyperConfig{N: 1, Dynamic: true}, plainly),
		"vwn of one slot":    tinyZoo(stream.VWNConfig{M: 1, N: 1}, plainly),
		"vwn, tied":          tinyZoo(stream.VWNConfig{M: 5, N: 5}, tied),
		"vwn, tied and wide": tinyZoo(stream.VWNConfig{M: 3, N: 5, Expand: true}, tied),
		"all experts":        tinyVector(experts(3, 3)),
		"one expert":         tinyVector(experts(1, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, problem(config))
			c := modeltest.Resolve(t, config)
			store := modeltest.NewStore(t, c, tensor.Float32, 0)
			assert.Equal(t, store.Size(), c.Cost().Parameters)
			modeltest.Compile(t, c, store, modeltest.Setup{Gradients: true})
		})
	}
}

// TestResolveZoo: the defaults of settings that only some designs have.
func TestResolveZoo(t *testing.T) {
	for want, c := range map[stream.Design]models.Config{
		stream.HyperConfig{Vectors: width(15), N: 4}:                                                  tinyZoo(stream.HyperConfig{}, plainly),
		stream.MHCConfig{Vectors: width(15), N: 4, Iterations: 20, StartLogit: -8, StartAlpha: 0.01}:  tinyZoo(stream.MHCConfig{}, plainly),
		stream.MHCConfig{Vectors: width(15), N: 2, Iterations: 3, StartLogit: -8, StartAlpha: 0.01}:   tinyZoo(stream.MHCConfig{N: 2, Iterations: 3}, plainly),
		stream.MHCLiteConfig{Vectors: width(15), N: 4}:                                                tinyZoo(stream.MHCLiteConfig{}, plainly),
		stream.KromHCConfig{Vectors: width(15), N: 4}:                                                 tinyZoo(stream.KromHCConfig{}, plainly),
		stream.GatedResidualConfig{Vectors: width(15), N: 4, Rank: 2}:                                 tinyZoo(stream.GatedResidualConfig{}, plainly),
		stream.WideConfig{Vectors: width(15), Form: "streams", N: 4}:                                  tinyZoo(stream.WideConfig{}, plainly),
		stream.WideConfig{Vectors: width(15), Form: "streams", N: 4, Retention: true, MaxForget: 0.1}: tinyZoo(stream.WideConfig{Retention: true}, plainly),
		stream.WideConfig{Vectors: width(15), Form: "latent", Width: 30}:                              tinyZoo(stream.WideConfig{Form: "latent", N: 4}, plainly),
		stream.LaurelConfig{Vectors: width(15), Form: "paper", Weights: "softmax", WeightScale: 2}:    tinyZoo(stream.LaurelConfig{}, plainly),
		stream.LaurelConfig{Vectors: width(15), Form: "paper", Weights: "none", Rank: 2}:              tinyZoo(stream.LaurelConfig{Weights: "none", WeightScale: 2, Rank: 2}, plainly),
		stream.LaurelConfig{Vectors: width(15), Form: "gemma", Rank: 15}:                              tinyZoo(stream.LaurelConfig{Form: "gemma", Weights: "softmax", WeightScale: 2}, plainly),
		stream.LaurelConfig{Vectors: width(72), Form: "gemma", Rank: 64}:                              tinyZoo(stream.LaurelConfig{Vectors: width(72), Form: "gemma"}, plainly),
		stream.HieraggConfig{Vectors: width(15), Inner: 15}:                                           tinyZoo(stream.HieraggConfig{}, plainly),
		stream.HighwayConfig{Vectors: width(15)}:                                                      tinyZoo(stream.HighwayConfig{}, plainly),
		stream.DWLSTMConfig{Vectors: width(15)}:                                                       tinyZoo(stream.DWLSTMConfig{}, plainly),
		stream.VWNConfig{Vectors: width(15), M: 3, N: 5}:                                              tinyZoo(stream.VWNConfig{M: 3, N: 5}, plainly),
	} {
		assert.Equal(t, want, modeltest.Resolve(t, c).Config.Stream)
	}
	for n, k := range map[int]int{1: 1, 2: 2, 8: 2} {
		assert.Equal(t, layers.MoEConfig{Hidden: 17, Experts: n, TopK: k}, modeltest.Resolve(t, tinyVector(experts(n, 0))).FeedForward, "of %d experts", n)
	}
	for _, base := range zooBases() {
		c := modeltest.Resolve(t, base)
		assert.Equal(t, c, modeltest.Resolve(t, c.Config), base.Stream.Name())
	}
}

// TestSameModelZoo: a design's settings make another model.
func TestSameModelZoo(t *testing.T) {
	bases := zooBases()
	for _, other := range []struct {
		base   models.Config
		want   string
		change func(c *subject)
	}{
		{bases[0], "model.stream.kind: want hyper, got mhc", func(c *subject) { c.Config = c.OnStream(stream.MHCConfig{}) }},
		{bases[0], "model.stream.n: want 2, got 3", onField("N", 3)},
		{bases[0], "model.stream.dynamic: want false, got true", onField("Dynamic", true)},
		{bases[2], "model.stream.sinkhorn_iterations: want 20, got 5", onField("Iterations", 5)},
		{bases[4], "model.stream.m: want 3, got 5", onField("M", 5)},
		{bases[4], "model.stream.expand_embedding: want false, got true", onField("Expand", true)},
		{bases[7], "model.stream.inner: want 15, got 7", onField("Inner", 7)},
		{bases[7], "model.stream.separate_aggregates: want false, got true", onField("Separate", true)},
		{bases[9], "model.feedforward.experts: want 3, got 4", inFeedForward("Experts", 4)},
		{bases[9], "model.feedforward.top_k: want 2, got 1", inFeedForward("TopK", 1)},
		{bases[9], "model.feedforward.kind: want moe, got gelu", func(c *subject) { c.FeedForward = gelu(17) }},
	} {
		c := subject{Config: other.base}
		other.change(&c)
		assert.EqualError(t, modeltest.Resolve(t, other.base).SameModel(modeltest.Resolve(t, c.Config)), other.want)
	}
}
