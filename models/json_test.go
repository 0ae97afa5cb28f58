package models_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestJSONHoldsAConfig: every config that a file may hold is read back as it was written, with and
// without its defaults; a Spec is written as its Config.
func TestJSONHoldsAConfig(t *testing.T) {
	configs := append(append(zooBases(t), moeBase()), tinyMatrix(matrixMuP), tinyVector(vectorMuP), tinyMatrix(ropeExactLeCun), tinyMatrix(authors), tinyVector(tied), tinyVector(dropoutBias),
		tinyMatrix(func(c *models.Config) { c.MuP = &models.MuP{} }), tinyMatrix(func(c *models.Config) { c.MuP = &models.MuP{AttnMultiplier: 2} }))
	zoo := models.Standard()
	for _, p := range zoo.Presets() {
		p.Config.Preset = p.Name
		configs = append(configs, p.Config)
	}
	for _, c := range configs {
		for _, c := range []models.Config{c, modeltest.Resolve(t, c).Config} {
			text, err := json.Marshal(c)
			require.NoError(t, err)
			read, err := zoo.Unmarshal(text)
			require.NoError(t, err, string(text))
			assert.Equal(t, c, read, string(text))
		}
		spec := modeltest.Resolve(t, c)
		ofConfig, err := json.Marshal(spec.Config)
		require.NoError(t, err)
		ofSpec, err := json.Marshal(spec)
		require.NoError(t, err)
		assert.Equal(t, string(ofConfig), string(ofSpec))
	}
}

// TestJSONHasARunConfigsSections: the JSON of a model has the keys of a run config's model section.
func TestJSONHasARunConfigsSections(t *testing.T) {
	text, err := json.Marshal(tinyMatrix(func(c *models.Config) { matrixMuP(c); experts(4, 2)(c); c.MuP.Base.FeedForward = nil }))
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"layers": 2, "vocab": 13, "seq": 9, "norm": "rmsnorm", "norm_eps": 0, "gelu": "", "bias": false, "tie_embeddings": false, "dropout": 0,
		"init": "", "embedding_std": 0, "mask_documents": true, "bos": 4,
		"stream": {"kind": "matrix", "dk": 5, "dv": 6, "rank": 3},
		"attention": {"positions": "alibi", "inverse_layer_scaling": true},
		"feedforward": {"kind": "moe", "hidden": 11, "experts": 4, "top_k": 2},
		"mup": {"base": {"stream": {"kind": "matrix", "dk": 3, "dv": 4, "rank": 2}, "attention": {}}, "input_multiplier": 2.5, "output_multiplier": 1.7, "attn_multiplier": 1.3}
	}`, string(text))
}

// TestJSONRefuses: a file of another program, or a damaged one, gives an error of one line that
// names the section.
func TestJSONRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                               "models: config: unexpected end of JSON input",
		`{"layers": "two"}`:                               `: model.layers: want an integer, got "two"`,
		`{"stream": "matrix"}`:                            ": model.stream: want a section: write stream: {kind: matrix}",
		`{"stream": {"dk": 5}}`:                           ": model.stream.kind: want one of matrix, ",
		`{"stream": {"kind": 5}}`:                         ": model.stream.kind: want a string, got 5",
		`{"stream": {"kind": "tensor"}}`:                  ": model.stream.kind: want one of matrix, ",
		`{"stream": {"kind": "matrix", "n": 5}}`:          ": model.stream.n: unknown key of kind matrix: ",
		`{"stream": {"kind": "matrix", "dk": 1.5}}`:       ": model.stream.dk: want an integer, got 1.5",
		`{"feedforward": {"kind": "relu6"}}`:              `: model.feedforward.kind: unknown kind "relu6"; did you mean relu?`,
		`{"feedforward": {"kind": "gelu", "experts": 3}}`: ": model.feedforward.experts: unknown key of kind gelu: it belongs to moe",
		`{"attention": {"headz": 3}}`:                     `: model.attention.headz: unknown key; did you mean "heads"?`,
		`{"layerz": 3}`:                                   `: model.layerz: unknown key; did you mean "layers"?`,
		`{"stream": {"kind": "matrix"}, "mup": {"base": {"stream": {"kind": "matrix", "hidden": 5}}}}`:   ": model.mup.base.stream.hidden: unknown key",
		`{"feedforward": {"kind": "gelu"}, "mup": {"base": {"feedforward": {"kind": "gelu", "dk": 5}}}}`: ": model.mup.base.feedforward.dk: unknown key",
		`{"mup": {"base": {"stream": {"kind": "matrix"}}}}`:                                              ": model.mup.base.stream: want nothing without model.stream",
	} {
		_, err := models.Standard().Unmarshal([]byte(text))
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error(), want, text)
			assert.Contains(t, err.Error(), "models: config: ", text)
			assert.NotContains(t, err.Error(), "\n", text)
		}
	}
}

// TestJSONOfAnotherZoo: a design from outside the zoo is written, and read by a zoo that has it.
func TestJSONOfAnotherZoo(t *testing.T) {
	c := tinyVector(func(c *models.Config) { c.Stream, c.FeedForward = broad{vectorOf(15)}, narrow{gelu(4)} })
	text, err := json.Marshal(c)
	require.NoError(t, err)
	_, err = models.Standard().Unmarshal(text)
	assert.ErrorContains(t, err, "the file is damaged, or was written by a newer program or one with more designs: model.feedforward.kind: want one of ")
	read, err := models.Standard().With(broad{}).WithKinds(narrow{}).Unmarshal(text)
	require.NoError(t, err)
	assert.Equal(t, c, read)
	assert.IsType(t, broad{}, read.Stream)
	assert.NotEqual(t, stream.Design(vectorOf(15)), read.Stream)
}
