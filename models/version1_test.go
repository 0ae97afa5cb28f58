package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// flat are the keys of version 1 that are what they were.
const flat = `"layers":2,"vocab":17,"seq":6,"norm":"rmsnorm","norm_eps":0.001,"bias":true,"tie_embeddings":true,"gelu":"exact","dropout":0.1,"init":"paper","init_std":0.03,"embedding_std":0.04,"mask_documents":true,"bos":16`

func ofVersion1(c models.Config) models.Config {
	c.Layers, c.Vocab, c.Seq, c.Norm, c.NormEps, c.Bias, c.TieEmbeddings, c.Gelu = 2, 17, 6, models.NormRMS, 0.001, true, true, models.GeluExact
	c.Dropout, c.Init, c.InitStd, c.EmbeddingStd, c.MaskDocuments, c.BOS = 0.1, models.InitPaper, 0.03, 0.04, true, 16
	return c
}

// TestVersion1IsTranslated: every key that it had, in each design.
func TestVersion1IsTranslated(t *testing.T) {
	vectors := stream.Vectors{D: 8}
	attention := models.Attention{Heads: 2, HeadDim: 3, Positions: models.PositionsRoPE, RopeBase: 500, InverseLayerScaling: true}
	const heads = `"heads":2,"head_dim":3,"positions":"rope","rope_base":500,"inverse_layer_scaling":true`
	gelu := layers.GELUConfig{Hidden: 12}
	for text, want := range map[string]models.Config{
		`"preset":"rmt-46m","stream":"matrix","dk":4,"dv":5,"rank":3,"ff":12,"positions":"alibi","inverse_layer_scaling":true,"z_loss":0.0001,
		 "mup":{"base_dk":2,"base_dv":5,"base_rank":1,"base_ff":6,"input_multiplier":2,"output_multiplier":0.5,"attn_multiplier":1.5}`: {
			Preset: "rmt-46m", Stream: stream.MatrixConfig{Dk: 4, Dv: 5, Rank: 3}, FeedForward: gelu,
			Attention: models.Attention{Positions: models.PositionsALiBi, InverseLayerScaling: true},
			MuP: &models.MuP{InputMultiplier: 2, OutputMultiplier: 0.5, AttnMultiplier: 1.5,
				Base: models.MuPBase{Stream: stream.MatrixConfig{Dk: 2, Dv: 5, Rank: 1}, FeedForward: layers.GELUConfig{Hidden: 6}}}},
		`"stream":"vector","d_model":8,"ff":12,` + heads + `,"mup":{"base_d_model":4,"base_heads":1,"base_head_dim":2}`: {
			Stream: stream.VectorConfig{Vectors: vectors}, Attention: attention, FeedForward: gelu,
			MuP: &models.MuP{Base: models.MuPBase{Stream: stream.VectorConfig{Vectors: stream.Vectors{D: 4}}, Attention: models.BaseHeads{Heads: 1, HeadDim: 2}}}},
		`"stream":"vector","d_model":8,"ff":12,` + heads + `,"mup":{}`: {
			Stream: stream.VectorConfig{Vectors: vectors}, Attention: attention, FeedForward: gelu, MuP: &models.MuP{}},
		`"stream":"vector","d_model":8,"ff":12,"experts":3,"top_k":2,` + heads + `,"balance_loss":0.01,"router_z_loss":0.1,"mup":{"base_ff":6}`: {
			Stream: stream.VectorConfig{Vectors: vectors}, Attention: attention, FeedForward: layers.MoEConfig{Hidden: 12, Experts: 3, TopK: 2},
			MuP: &models.MuP{Base: models.MuPBase{FeedForward: layers.MoEConfig{Hidden: 6}}}},
		`"stream":"hyper","d_model":8,"n":3,"dynamic":true,"ff":12,` + heads: {
			Stream: stream.HyperConfig{Vectors: vectors, N: 3, Dynamic: true}, Attention: attention, FeedForward: gelu},
		`"stream":"mhc","d_model":8,"n":3,"sinkhorn_iterations":7,"ff":12,` + heads: {
			Stream: stream.MHCConfig{Vectors: vectors, N: 3, Iterations: 7}, Attention: attention, FeedForward: gelu},
		`"stream":"mhc-lite","d_model":8,"n":3,"ff":12,` + heads: {
			Stream: stream.MHCLiteConfig{Vectors: vectors, N: 3}, Attention: attention, FeedForward: gelu},
		`"stream":"vwn","d_model":8,"n":3,"m":2,"expand_embedding":true,"ff":12,` + heads: {
			Stream: stream.VWNConfig{Vectors: vectors, N: 3, M: 2, Expand: true}, Attention: attention, FeedForward: gelu},
		`"stream":"highway","d_model":8,"ff":12,` + heads: {
			Stream: stream.HighwayConfig{Vectors: vectors}, Attention: attention, FeedForward: gelu},
		`"stream":"hieragg","d_model":8,"inner":5,"separate_aggregates":true,"ff":12,` + heads: {
			Stream: stream.HieraggConfig{Vectors: vectors, Inner: 5, Separate: true}, Attention: attention, FeedForward: gelu},
		`"stream":"dwlstm","d_model":8,"ff":0,"inverse_layer_scaling":false,"heads":2`: {
			Stream: stream.DWLSTMConfig{Vectors: vectors}, Attention: models.Attention{Heads: 2}},
	} {
		got, err := models.Standard().UnmarshalVersion(1, []byte("{"+text+","+flat+"}"))
		require.NoError(t, err, text)
		assert.Equal(t, ofVersion1(want), got, text)
	}
}

func TestOtherVersionsAreRefused(t *testing.T) {
	for _, version := range []int{-1, 0, 3} {
		_, err := models.Standard().UnmarshalVersion(version, []byte("{}"))
		assert.ErrorContains(t, err, "models: config: want format version 1 or 2, got ")
	}
	for _, text := range []string{"", "[]", `{"mup":3}`, `{"stream":3}`} {
		_, err := models.Standard().UnmarshalVersion(1, []byte(text))
		assert.Error(t, err, text)
	}
}
