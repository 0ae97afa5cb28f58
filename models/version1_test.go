package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// TestVersion1: a config in format version 1, with all keys side by side, is read as the model that
// it described; keys about training are left out.
func TestVersion1(t *testing.T) {
	const plain = `"vocab":13,"seq":9,"norm":"","norm_eps":0,"bias":false,"tie_embeddings":false,"gelu":"","dropout":0,"init":"","embedding_std":0,`
	for text, want := range map[string]models.Config{
		`{"stream":"matrix","layers":2,"dk":5,"dv":6,"rank":3,"ff":11,` + plain + `"positions":"","inverse_layer_scaling":false,"mup":{},"mask_documents":false,"z_loss":0.1}`://
		tinyMatrix(func(c *models.Config) { c.MuP = &models.MuP{} }),
		`{"stream":"matrix","layers":2,"dk":5,"dv":6,"rank":3,"ff":11,"vocab":13,"seq":9,"norm":"rmsnorm","norm_eps":0,"positions":"alibi","inverse_layer_scaling":true,` +
			`"bias":false,"tie_embeddings":false,"gelu":"","dropout":0,"init":"","embedding_std":0,"mup":{"base_dk":3,"base_dv":4,"base_rank":2,"base_ff":6,` +
			`"input_multiplier":2.5,"output_multiplier":1.7,"attn_multiplier":1.3},"mask_documents":true,"bos":4,"z_loss":0.0001}`: tinyMatrix(matrixMuP),
		`{"stream":"vector","layers":2,"d_model":15,"heads":3,"ff":17,"vocab":13,"seq":9,"norm":"rmsnorm","norm_eps":0,"positions":"alibi","inverse_layer_scaling":true,` +
			`"mup":{"base_d_model":10,"base_heads":2,"base_head_dim":4,"base_ff":8,"input_multiplier":1.5,"output_multiplier":0.8,"attn_multiplier":1.2},` +
			`"mask_documents":true,"bos":4}`: tinyVector(vectorMuP),
		`{"stream":"vector","layers":2,"d_model":15,"heads":3,"head_dim":4,"ff":17,` + plain + `"positions":"rope","rope_base":100}`: tinyVector(
			withAttention(models.Attention{Heads: 3, HeadDim: 4, Positions: models.PositionsRoPE, RopeBase: 100})),
		`{"stream":"vector","layers":2,"d_model":15,"heads":3,"experts":4,"top_k":2,"ff":17,` + plain + `"balance_loss":0.01,"router_z_loss":0.001}`: tinyVector(experts(4, 2)),
		`{"stream":"vector","layers":2,"d_model":15,"heads":3,"experts":4,"ff":17,` + plain + `"mup":{"base_ff":3}}`: tinyVector(all(experts(4, 0), func(c *models.Config) {
			c.MuP = &models.MuP{Base: models.MuPBase{FeedForward: layers.MoEConfig{Hidden: 3}}}
		})),
		`{"stream":"hieragg","layers":2,"d_model":15,"heads":3,"inner":5,"separate_aggregates":true,"ff":17,` + plain + `"positions":""}`: tinyZoo(stream.HieraggConfig{Inner: 5, Separate: true}, plainly),
		`{"stream":"vwn","layers":2,"d_model":15,"heads":3,"n":7,"m":5,"expand_embedding":true,"ff":17,` + plain + `"positions":""}`:      tinyZoo(stream.VWNConfig{N: 7, M: 5, Expand: true}, plainly),
		`{"stream":"hyper","layers":2,"d_model":15,"heads":3,"n":2,"dynamic":true,"ff":17,` + plain + `"positions":""}`:                   tinyZoo(stream.HyperConfig{N: 2, Dynamic: true}, plainly),
		`{"stream":"mhc","layers":2,"d_model":15,"heads":3,"n":2,"sinkhorn_iterations":7,"ff":17,` + plain + `"positions":""}`:            tinyZoo(stream.MHCConfig{N: 2, Iterations: 7}, plainly),
		`{"stream":"dwlstm","layers":2,"d_model":15,"heads":3,"ff":0,` + plain + `"positions":""}`:                                        tinyZoo(stream.DWLSTMConfig{}, plainly),
	} {
		got, err := models.Standard().UnmarshalVersion(1, []byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

// TestVersionsRefused: an unknown version is refused, and so is text that does not fit its version.
func TestVersionsRefused(t *testing.T) {
	for _, row := range []struct {
		version    int
		text, want string
	}{
		{0, `{}`, "models: config: want format version 1 or 2, got 0"},
		{3, `{}`, "models: config: want format version 1 or 2, got 3"},
		{1, `{`, "models: config of format version 1: unexpected end of JSON input"},
		{1, `{"mup": 3}`, "models: config of format version 1: mup: json: cannot unmarshal number"},
		{1, `{"stream": "tensor"}`, "model.stream.kind: want one of matrix, "},
		{1, `{"stream": "matrix", "n": 3}`, "model.stream.n: unknown key of kind matrix"},
		{1, `{"stream": {"kind": "matrix"}}`, "model.stream.kind: want a string, got a map"},
		{2, `{"stream": "matrix"}`, "model.stream: want a section: write stream: {kind: matrix}"},
	} {
		_, err := models.Standard().UnmarshalVersion(row.version, []byte(row.text))
		assert.ErrorContains(t, err, row.want, row.text)
	}
}
