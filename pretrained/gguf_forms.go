package pretrained

import (
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// What llama.cpp fixes about an architecture, and the keys that only one has.

// ggufWant returns an error unless a model has what llama.cpp fixes for an architecture.
func ggufWant(has bool, arch, key, want string, got any) error {
	if has {
		return nil
	}
	return errors.Errorf("gguf: model.%s: want %s for llama.cpp's %s, got %v", key, want, arch, got)
}

// gpt2GGUF checks that llama.cpp's GPT-2 can compute the model.
func gpt2GGUF(spec models.Spec) (map[string]any, error) {
	if err := ggufWant(!spec.Attention.InverseLayerScaling, "gpt2", "attention.inverse_layer_scaling", "false", true); err != nil {
		return nil, err
	}
	return nil, ggufWant(spec.Gelu == models.GeluTanh, "gpt2", "gelu", models.GeluTanh, spec.Gelu)
}

// gptNeoXGGUF says whether blocks are parallel. llama.cpp's GELU is the tanh form; that it is
// looked up in a table of F16 makes more of a difference.
func gptNeoXGGUF(spec models.Spec) (map[string]any, error) {
	if err := ggufWant(!spec.TieEmbeddings, "gptneox", "tie_embeddings", "false", true); err != nil {
		return nil, err
	}
	return map[string]any{"use_parallel_residual": spec.Parallel}, nil
}

// gemmaGGUF writes windows and soft caps. Every period-th layer has no window.
func gemmaGGUF(arch, every string, period int) func(models.Spec) (map[string]any, error) {
	return func(spec models.Spec) (map[string]any, error) {
		s, ok := spec.Attention.Kind.(layers.SlidingAttention)
		for l := range spec.Layers {
			ok = ok && s.Slides(l) == ((l+1)%period != 0)
		}
		keys := map[string]any{"attention.sliding_window": uint32(s.Window)}
		if err := ggufWant(ok, arch, "attention.layers", "windows in all layers but every "+every, s.Layers); err != nil {
			return nil, err
		}
		if err := ggufWant(spec.Gelu == models.GeluTanh, arch, "gelu", models.GeluTanh, spec.Gelu); err != nil {
			return nil, err
		}
		if err := ggufWant(s.RopeBase == 0 || s.RopeBase == 10000, arch, "attention.window_rope_base", "10000", s.RopeBase); err != nil {
			return nil, err
		}
		root := 1 / math.Sqrt(float64(spec.HeadDim()))
		if err := ggufWant(math.Abs(spec.Scales().Attention-root) < 1e-9, arch, "attention.scale", "1/sqrt(head_dim)", spec.Scales().Attention); err != nil {
			return nil, err
		}
		if c := spec.Attention.Softcap; c > 0 {
			keys["attn_logit_softcapping"] = float32(c)
		}
		if c := spec.LogitSoftcap; c > 0 {
			keys["final_logit_softcapping"] = float32(c)
		}
		return keys, nil
	}
}

// smolLM3GGUF checks that every fourth layer has no positions.
func smolLM3GGUF(spec models.Spec) (map[string]any, error) {
	for l := range spec.Layers {
		if err := ggufWant(slices.Contains(spec.Attention.NoRope, l) == ((l+1)%4 == 0), "smollm3", "attention.no_rope", "every fourth layer", spec.Attention.NoRope); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// graniteGGUF writes the factors; llama.cpp divides logits by logit_scale.
func graniteGGUF(spec models.Spec) (map[string]any, error) {
	scales, residual := spec.Scales(), spec.ResidualScale
	if residual == 0 {
		residual = 1
	}
	return map[string]any{"embedding_scale": float32(scales.Embedding), "residual_scale": float32(residual), "attention.scale": float32(scales.Attention),
		"logit_scale": float32(1 / scales.Logits)}, nil
}
