package models_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// nothingFor is the message of a size that belongs to other streams.
func nothingFor(stream string, got int) string {
	return fmt.Sprintf("want nothing for the %s stream, got %d: remove it or change model.stream", stream, got)
}

// badZoo are the refusals of the streams beside matrix and vector.
func badZoo() []refusal {
	hyper, mhc, lite := models.StreamHyper, models.StreamMHC, models.StreamMHCLite
	vwn, dwlstm, hieragg := models.StreamVWN, models.StreamDWLSTM, models.StreamHierAgg
	bad := []refusal{
		{"n", "want >= 1, got -1", tinyZoo(hyper, func(c *models.Config) { c.N = -1 })},
		{"n", "want >= 1, got -2", tinyZoo(mhc, func(c *models.Config) { c.N = -2 })},
		{"n", "want 1 to 64 for the mhc stream, got 65", tinyZoo(mhc, func(c *models.Config) { c.N = 65 })},
		{"n", "want >= 1, got -1", tinyZoo(lite, func(c *models.Config) { c.N = -1 })},
		{"n", "want 1 to 4 for the mhc-lite stream, which mixes n! permutations, got 5: take the mhc stream", tinyZoo(lite, func(c *models.Config) { c.N = 5 })},
		{"n", "want >= 1, got 0", tinyZoo(vwn, func(c *models.Config) { c.M = 3 })},
		{"n", "want at least m 5, the slots that a sublayer reads, got 4", tinyZoo(vwn, func(c *models.Config) { c.M, c.N = 5, 4 })},
		{"m", "want >= 1, got 0", tinyZoo(vwn, func(c *models.Config) { c.N = 3 })},
		{"m", "want >= 1, got -3", tinyZoo(vwn, func(c *models.Config) { c.M, c.N = -3, 3 })},
		{"m", "want a divisor of d_model 15, got 2", tinyZoo(vwn, func(c *models.Config) { c.M, c.N = 2, 3 })},
		{"m", nothingFor(hyper, 2), tinyZoo(hyper, func(c *models.Config) { c.M = 2 })},
		{"sinkhorn_iterations", "want >= 1, got -1", tinyZoo(mhc, func(c *models.Config) { c.SinkhornIterations = -1 })},
		{"sinkhorn_iterations", nothingFor(lite, 20), tinyZoo(lite, func(c *models.Config) { c.SinkhornIterations = 20 })},
		{"inner", "want >= 1, got -1", tinyZoo(hieragg, func(c *models.Config) { c.Inner = -1 })},
		{"inner", nothingFor(dwlstm, 8), tinyZoo(dwlstm, func(c *models.Config) { c.FF, c.Inner = 0, 8 })},
		{"layers", "want an even number for the hieragg stream, which aggregates pairs of blocks, got 3", tinyZoo(hieragg, func(c *models.Config) { c.Layers = 3 })},
		{"dynamic", "want nothing for the mhc stream: it belongs to hyper", tinyZoo(mhc, func(c *models.Config) { c.Dynamic = true })},
		{"expand_embedding", "want nothing for the hyper stream: it belongs to vwn", tinyZoo(hyper, func(c *models.Config) { c.ExpandEmbedding = true })},
		{"tie_embeddings", "want expand_embedding with it for the vwn stream, whose embedding is wider than d_model", tinyZoo(vwn, func(c *models.Config) { c.M, c.N, c.TieEmbeddings = 3, 5, true })},
		{"ff", nothingFor(dwlstm, 17), tinyZoo(dwlstm, func(*models.Config) {})},
		{"d_model", "want >= 1, got 0", tinyZoo(dwlstm, func(c *models.Config) { c.FF, c.DModel = 0, 0 })},
		{"heads", "want a divisor of d_model 15, got 4", tinyZoo(hyper, func(c *models.Config) { c.Heads = 4 })},
		{"bias", "rmsnorm has no bias: set bias to false or norm to layernorm", tinyZoo(vwn, func(c *models.Config) { c.M, c.N, c.Norm, c.Bias = 3, 3, models.NormRMS, true })},
	}
	return append(bad, foreignToZoo()...)
}

// foreignToZoo are what belongs to matrix and vector, and n where a stream has one row.
func foreignToZoo() []refusal {
	var bad []refusal
	for _, base := range zooBases() {
		if base.Stream == models.StreamVector {
			continue
		}
		dk, mup, n := base, base, base
		dk.Dk, mup.MuP, n.N = 4, &models.MuP{}, 4
		bad = append(bad, refusal{"dk", nothingFor(base.Stream, 4), dk},
			refusal{"mup", fmt.Sprintf("want nothing for the %s stream: muP is known for matrix and vector", base.Stream), mup})
		if base.N == 0 {
			bad = append(bad, refusal{"n", nothingFor(base.Stream, 4), n})
		}
	}
	return append(bad, refusal{"n", nothingFor("matrix", 4), tinyMatrix(func(c *models.Config) { c.N = 4 })},
		refusal{"n", nothingFor("vector", 4), tinyVector(func(c *models.Config) { c.N = 4 })})
}

// badExperts are the refusals of mixtures of experts.
func badExperts() []refusal {
	moe := func(f func(c *models.Config)) models.Config {
		return tinyVector(func(c *models.Config) { c.Experts, c.TopK = 4, 2; f(c) })
	}
	return []refusal{
		{"experts", "want >= 1, or 0 for a dense feed-forward, got -1", moe(func(c *models.Config) { c.Experts, c.TopK = -1, 0 })},
		{"experts", "want nothing for the dwlstm stream, which has no feed-forward sublayer, got 4", moe(func(c *models.Config) { c.Stream, c.FF = models.StreamDWLSTM, 0 })},
		{"top_k", "want nothing without experts, got 2: set model.experts or remove it", moe(func(c *models.Config) { c.Experts = 0 })},
		{"top_k", "want 1 to 4, the number of experts, got 5", moe(func(c *models.Config) { c.TopK = 5 })},
		{"top_k", "want 1 to 4, the number of experts, got -1", moe(func(c *models.Config) { c.TopK = -1 })},
		{"balance_loss", "want a finite number >= 0, got -0.01", moe(func(c *models.Config) { c.BalanceLoss = -0.01 })},
		{"balance_loss", "want a finite number >= 0, got NaN", moe(func(c *models.Config) { c.BalanceLoss = math.NaN() })},
		{"balance_loss", "want a finite number >= 0, got +Inf", moe(func(c *models.Config) { c.BalanceLoss = math.Inf(1) })},
		{"balance_loss", "want nothing without experts, got 0.01: set model.experts or remove it", tinyVector(func(c *models.Config) { c.BalanceLoss = 0.01 })},
		{"router_z_loss", "want a finite number >= 0, got -1", moe(func(c *models.Config) { c.RouterZLoss = -1 })},
		{"router_z_loss", "want a finite number >= 0, got NaN", moe(func(c *models.Config) { c.RouterZLoss = math.NaN() })},
		{"router_z_loss", "want nothing without experts, got 0.001: set model.experts or remove it", tinyMatrix(func(c *models.Config) { c.RouterZLoss = 1e-3 })},
	}
}

// TestValidateAtTheEdge: what lies just inside the refusals builds, and costs what Cost says.
func TestValidateAtTheEdge(t *testing.T) {
	for name, c := range map[string]models.Config{
		"mhc of 64":          tinyZoo(models.StreamMHC, func(c *models.Config) { c.N, c.DModel, c.SinkhornIterations = 64, 3, 1 }),
		"mhc of 1":           tinyZoo(models.StreamMHC, func(c *models.Config) { c.N = 1 }),
		"mhc-lite of 4":      tinyZoo(models.StreamMHCLite, func(c *models.Config) { c.N = 4 }),
		"mhc-lite of 1":      tinyZoo(models.StreamMHCLite, func(c *models.Config) { c.N = 1 }),
		"hyper of 1":         tinyZoo(models.StreamHyper, func(c *models.Config) { c.N, c.Dynamic = 1, true }),
		"vwn of one slot":    tinyZoo(models.StreamVWN, func(c *models.Config) { c.M, c.N = 1, 1 }),
		"vwn, tied":          tinyZoo(models.StreamVWN, func(c *models.Config) { c.M, c.N, c.TieEmbeddings = 5, 5, true }),
		"vwn, tied and wide": tinyZoo(models.StreamVWN, func(c *models.Config) { c.M, c.N, c.TieEmbeddings, c.ExpandEmbedding = 3, 5, true, true }),
		"all experts":        tinyVector(func(c *models.Config) { c.Experts, c.TopK = 3, 3 }),
		"one expert":         tinyVector(func(c *models.Config) { c.Experts = 1 }),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.Validate())
			store := modeltest.NewStore(t, c, tensor.Float32, 0)
			assert.Equal(t, store.Size(), c.Cost().Parameters)
			modeltest.Compile(t, c, store, modeltest.Setup{Gradients: true})
		})
	}
}

// TestResolveZoo: the defaults of fields that only some streams have; no other stream gets
// them.
func TestResolveZoo(t *testing.T) {
	for _, stream := range []string{models.StreamHyper, models.StreamMHC, models.StreamMHCLite} {
		assert.Equal(t, 4, models.Config{Stream: stream}.Resolve().N, stream)
	}
	assert.Equal(t, 20, models.Config{Stream: models.StreamMHC}.Resolve().SinkhornIterations)
	assert.Equal(t, 64, models.Config{Stream: models.StreamHierAgg, DModel: 64}.Resolve().Inner)
	for experts, k := range map[int]int{0: 0, 1: 1, 2: 2, 8: 2} {
		assert.Equal(t, k, models.Config{Stream: models.StreamVector, Experts: experts}.Resolve().TopK, "of %d experts", experts)
	}
	for _, stream := range []string{models.StreamMatrix, models.StreamVector, models.StreamHighway, models.StreamVWN} {
		c := models.Config{Stream: stream, DModel: 64}.Resolve()
		assert.Equal(t, [4]int{}, [4]int{c.N, c.SinkhornIterations, c.Inner, c.TopK}, stream)
	}
	for _, base := range zooBases() {
		assert.Equal(t, base.Resolve(), base.Resolve().Resolve(), base.Stream)
	}
}

// TestSameModelZoo: the zoo's fields make another model; the experts' losses do not.
func TestSameModelZoo(t *testing.T) {
	bases := zooBases()
	for _, other := range []struct {
		base   models.Config
		want   string
		change func(c *models.Config)
	}{
		{bases[0], "model.stream: want hyper, got mhc", func(c *models.Config) { c.Stream = models.StreamMHC }},
		{bases[0], "model.n: want 2, got 3", func(c *models.Config) { c.N = 3 }},
		{bases[0], "model.dynamic: want false, got true", func(c *models.Config) { c.Dynamic = true }},
		{bases[2], "model.sinkhorn_iterations: want 20, got 5", func(c *models.Config) { c.SinkhornIterations = 5 }},
		{bases[4], "model.m: want 3, got 5", func(c *models.Config) { c.M = 5 }},
		{bases[4], "model.expand_embedding: want false, got true", func(c *models.Config) { c.ExpandEmbedding = true }},
		{bases[7], "model.inner: want 15, got 7", func(c *models.Config) { c.Inner = 7 }},
		{bases[9], "model.experts: want 3, got 4", func(c *models.Config) { c.Experts = 4 }},
		{bases[9], "model.top_k: want 2, got 1", func(c *models.Config) { c.TopK = 1 }},
	} {
		c := other.base
		other.change(&c)
		assert.EqualError(t, other.base.SameModel(c), other.want)
	}
	c := bases[9]
	c.BalanceLoss, c.RouterZLoss = 0.01, 1e-3
	assert.NoError(t, bases[9].SameModel(c))
}
