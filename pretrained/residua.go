package pretrained

import (
	_ "embed" // modeling_residua.py
	"encoding/json"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

//go:embed modeling_residua.py
var modelingResidua string

// residua is the architecture for models that no class of transformers computes: the RMT, and
// transformers with options that no class has. Its Python class is written into the folder.
// config.json describes the model as our own files do, and the tensors have our names.
func residua() Architecture {
	return Architecture{
		Type: "residua", Class: "ResiduaForCausalLM", CodeFile: "modeling_residua.py", Code: modelingResidua,
		Read: readResidua, Write: writeResidua, Check: residuaCheck,
	}
}

// residuaConfig holds the parts of a config.json that affect the model.
type residuaConfig struct {
	Format int             `json:"residua_format"`
	Model  json.RawMessage `json:"residua"`
}

func readResidua(m *Described, text []byte) error {
	var c residuaConfig
	err := unmarshal(text, &c)
	if err != nil {
		return err
	}
	if c.Format > checkpoint.FormatVersion {
		return layers.Setting("residua_format", "want at most %d, got %d: update the program", checkpoint.FormatVersion, c.Format)
	}
	m.Config, err = models.Standard().UnmarshalVersion(c.Format, c.Model)
	return errors.Wrap(err, "residua")
}

// writeResidua writes the scales and muP's factors as computed numbers.
func writeResidua(spec models.Spec) map[string]any {
	scales := spec.Scales()
	return map[string]any{"residua_format": checkpoint.FormatVersion, "residua": spec.Config,
		"scales":     map[string]float64{"embedding": scales.Embedding, "attention": scales.Attention, "logits": scales.Logits},
		"auto_map":   map[string]string{"AutoConfig": "modeling_residua.ResiduaConfig", "AutoModelForCausalLM": "modeling_residua.ResiduaForCausalLM"},
		"vocab_size": spec.Vocab, "max_position_embeddings": spec.Seq, "hidden_size": spec.Width(), "num_hidden_layers": spec.Layers,
		"num_attention_heads": spec.HeadCount(), "use_cache": false}
}

// residuaCheck returns an error if modeling_residua.py cannot compute the model.
func residuaCheck(spec models.Spec) error {
	streams := []string{matrixStream(), vectorStream()}
	feedForwards := []string{layers.GELUConfig{}.Name(), layers.SwiGLUConfig{}.Name(), layers.ReLUConfig{}.Name(), layers.ReLU2Config{}.Name()}
	if got := spec.Stream.Name(); !slices.Contains(streams, got) {
		return layers.Setting("model.stream.kind", "want one of %v, got %s", streams, got)
	}
	if got := spec.FeedForward.Name(); !slices.Contains(feedForwards, got) {
		return layers.Setting("model.feedforward.kind", "want one of %v, got %s", feedForwards, got)
	}
	if got := spec.Attention.RopeScaling.Type; got != "" {
		return layers.Setting("model.attention.rope_scaling.type", "want nothing, got %s", got)
	}
	if kind := spec.Attention.Kind; kind != nil {
		return layers.Setting("model.attention.kind", "want %s, got %s", layers.DefaultAttention().Name(), kind.Name())
	}
	for _, o := range []struct {
		key string
		set bool
	}{
		{"norms", spec.Norms != ""}, {"parallel", spec.Parallel}, {"feedforward_bias", spec.FFBias}, {"residual_scale", spec.ResidualScale != 0},
		{"attention.bias", spec.Attention.Bias != ""}, {"attention.softcap", spec.Attention.Softcap != 0}, {"attention.rope_part", spec.Attention.RopePart != 0},
		{"attention.no_rope", len(spec.Attention.NoRope) > 0}, {"attention.qk_norm_over", spec.Attention.QKNormOver != ""},
	} {
		if o.set {
			return layers.Setting("model."+o.key, "want nothing, got a value: modeling_residua.py does not have it")
		}
	}
	if gated, ok := spec.FeedForward.(layers.SwiGLUConfig); ok && gated.Gate != "" {
		return layers.Setting("model.feedforward.gate", "want %s, got %s", layers.GateSiLU, gated.Gate)
	}
	if spec.Loops > 1 {
		return layers.Setting("model.loops", "want 1, got %d", spec.Loops)
	}
	return nil
}

// matrixStream returns the kind of the RMT's stream.
func matrixStream() string { return models.RMT(1, 1, 1, 1, 1).Stream.Name() }
