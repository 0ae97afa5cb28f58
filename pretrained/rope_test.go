package pretrained_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// ropeScalings returns the scalings in testdata/rope_scaling.py, in the form of a config.json and
// in ours.
func ropeScalings() map[string]struct {
	json map[string]any
	ours layers.RopeScaling
} {
	return map[string]struct {
		json map[string]any
		ours layers.RopeScaling
	}{
		"linear": {map[string]any{"rope_type": "linear", "factor": 4}, layers.RopeScaling{Type: layers.RopeLinear, Factor: 4}},
		"llama3": {map[string]any{"rope_type": "llama3", "factor": 8, "low_freq_factor": 0.5, "high_freq_factor": 2, "original_max_position_embeddings": 64},
			layers.RopeScaling{Type: layers.RopeLlama3, Factor: 8, LowFreqFactor: 0.5, HighFreqFactor: 2, OriginalSeq: 64}},
		"yarn": {map[string]any{"rope_type": "yarn", "factor": 4, "beta_fast": 4, "beta_slow": 0.1, "original_max_position_embeddings": 64},
			layers.RopeScaling{Type: layers.RopeYaRN, Factor: 4, BetaFast: 4, BetaSlow: 0.1, OriginalSeq: 64, AttentionFactor: 1.1386294361119891}},
		"yarn-defaults": {map[string]any{"rope_type": "yarn", "factor": 8},
			layers.RopeScaling{Type: layers.RopeYaRN, Factor: 8, BetaFast: 32, BetaSlow: 1, OriginalSeq: 64, AttentionFactor: 1.2079441541679836}},
	}
}

// TestRopeScaling: Llamas with scaled positions have transformers' logits, with either form of
// config.json, and are read back from an exported folder; formats without scaled positions refuse
// them, and GGUF has linear ones.
func TestRopeScaling(t *testing.T) {
	want, err := checkpoint.ReadTensors(filepath.Join("testdata", "rope-scaling.safetensors"))
	require.NoError(t, err)
	tokens, plain := expected(t, llama)
	tokens = tokens[:len(tokens)/2]
	for name, scaling := range ropeScalings() {
		tensor, err := want.Tensor(name)
		require.NoError(t, err)
		logits, err := tensor.Float32s()
		require.NoError(t, err)
		require.NotEqual(t, plain[:len(logits)], logits)

		f := openForeign(t, llama)
		delete(f.config, "rope_parameters")
		f.config["rope_theta"], f.config["rope_scaling"] = 5000, scaling.json
		before5 := open(t, f.write(t))
		require.Equal(t, scaling.ours, before5.Spec.Attention.RopeScaling, name)
		requireClose(t, logits, logitsOf(t, before5, tokens, 1), hfTolerance)

		delete(f.config, "rope_scaling")
		scaling.json["rope_theta"] = 5000
		f.config["rope_parameters"] = scaling.json
		m := open(t, f.write(t))
		requireSame(t, before5, m, name)
		_, back := exported(t, m)
		requireSame(t, m, back, name)

		_, err = m.Export("huggingface", filepath.Join(t.TempDir(), "new"), pretrained.ExportOptions{Architecture: "residua"})
		require.ErrorContains(t, err, "residua: model.attention.rope_scaling.type: want nothing, got "+scaling.ours.Type)
		path := filepath.Join(t.TempDir(), "new.gguf")
		err = exportAs(m, "gguf", path, pretrained.ExportOptions{IDsAlone: true})
		if scaling.ours.Type == layers.RopeLinear {
			require.NoError(t, err)
			requireSame(t, m, open(t, path), name)
		} else {
			require.ErrorContains(t, err, "rope_scaling.type: want linear or nothing, got "+scaling.ours.Type)
		}
	}
}

// TestRopeScalingRefuses: the error for a config names the key that is missing or not allowed.
func TestRopeScalingRefuses(t *testing.T) {
	for want, change := range map[string]func(a *models.Attention){
		"model.attention.rope_scaling: want positions rope with it, got positions alibi": func(a *models.Attention) {
			a.Positions, a.RopeBase, a.RopeScaling = models.PositionsALiBi, 0, layers.RopeScaling{Type: layers.RopeLinear, Factor: 2}
		},
		`model.attention.rope_scaling.type: want linear, llama3, yarn or longrope, got "ntk"`:   func(a *models.Attention) { a.RopeScaling = layers.RopeScaling{Type: "ntk"} },
		"model.attention.rope_scaling.type: want linear, llama3, yarn or longrope, got nothing": func(a *models.Attention) { a.RopeScaling.Factor = 2 },
		"model.attention.rope_scaling.factor: want a finite number above 0 and >= 1, got 0.5":   func(a *models.Attention) { a.RopeScaling = layers.RopeScaling{Type: layers.RopeLinear, Factor: 0.5} },
		"model.attention.rope_scaling.beta_fast: want nothing with type linear, got 2": func(a *models.Attention) {
			a.RopeScaling = layers.RopeScaling{Type: layers.RopeLinear, Factor: 2, BetaFast: 2}
		},
		"model.attention.rope_scaling.original_seq: want a finite number above 0 and >= 1, got 0": func(a *models.Attention) { a.RopeScaling = layers.RopeScaling{Type: layers.RopeYaRN, Factor: 2} },
		"model.attention.rope_scaling.beta_fast: want a finite number above 0 and >= 40, got 32": func(a *models.Attention) {
			a.RopeScaling = layers.RopeScaling{Type: layers.RopeYaRN, Factor: 2, OriginalSeq: 8, BetaSlow: 40}
		},
		"model.attention.rope_scaling.high_freq_factor: want a finite number above 0 and >= 5, got 4": func(a *models.Attention) {
			a.RopeScaling = layers.RopeScaling{Type: layers.RopeLlama3, Factor: 2, OriginalSeq: 8, LowFreqFactor: 5}
		},
	} {
		c := llamaLike()
		change(&c.Attention)
		_, err := c.Resolve()
		require.EqualError(t, err, want)
	}
}
