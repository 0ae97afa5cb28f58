package pretrained

import (
	"fmt"
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// What llama.cpp fixes about an architecture.

// ggufWant returns an error unless a model has what llama.cpp fixes for an architecture.
func ggufWant(has bool, arch, key, want string, got any) error {
	if has {
		return nil
	}
	return errors.Errorf("gguf: model.%s: want %s for llama.cpp's %s, got %v", key, want, arch, got)
}

// gpt2GGUF checks that llama.cpp's GPT-2 can compute the model.
func gpt2GGUF(spec models.Spec) error {
	if err := ggufWant(!spec.Attention.InverseLayerScaling, "gpt2", "attention.inverse_layer_scaling", "false", true); err != nil {
		return err
	}
	return ggufWant(spec.Gelu == models.GeluTanh, "gpt2", "gelu", models.GeluTanh, spec.Gelu)
}

// gptNeoXGGUF checks that there is a head. llama.cpp's GELU is the tanh form; this matters less
// than that llama.cpp looks it up in a table of F16.
func gptNeoXGGUF(spec models.Spec) error {
	return ggufWant(!spec.TieEmbeddings, "gptneox", "tie_embeddings", "false", true)
}

// gemmaGGUF checks windows and factors. Every period-th layer has no window.
func gemmaGGUF(arch, every string, period int) func(models.Spec) error {
	return func(spec models.Spec) error {
		s, ok := spec.Attention.Kind.(layers.SlidingAttention)
		for l := range spec.Layers {
			ok = ok && s.Slides(l) == ((l+1)%period != 0)
		}
		if err := ggufWant(ok, arch, "attention.layers", "windows in all layers but every "+every, s.Layers); err != nil {
			return err
		}
		if err := ggufWant(spec.Gelu == models.GeluTanh, arch, "gelu", models.GeluTanh, spec.Gelu); err != nil {
			return err
		}
		if err := ggufWant(s.RopeBase == 0 || s.RopeBase == 10000, arch, "attention.window_rope_base", "10000", s.RopeBase); err != nil {
			return err
		}
		if err := ggufWant(arch != "gemma2" || spec.Attention.Softcap > 0 && spec.LogitSoftcap > 0, arch, "attention.softcap", "one, and logit_softcap",
			spec.Attention.Softcap); err != nil {
			return err
		}
		scalar := gemmaScalar(spec.Layers, spec.Width(), spec.HeadCount(), spec.HeadDim())
		return ggufWant(math.Abs(spec.Scales().Attention*math.Sqrt(scalar)-1) < 1e-6, arch, "attention.scale", fmt.Sprintf("1/sqrt(%g)", scalar),
			spec.Scales().Attention)
	}
}

// gemmaScalar returns query_pre_attn_scalar as llama.cpp takes it: the size of a head or, for Gemma
// 2 and 3 of 27B parameters, which it knows by their numbers of layers, the width over the heads.
func gemmaScalar(layers, width, heads, dim int) float64 {
	if layers == 46 || layers == 62 {
		return float64(width) / float64(heads)
	}
	return float64(dim)
}

// smolLM3GGUF checks that every fourth layer has no positions.
func smolLM3GGUF(spec models.Spec) error {
	for l := range spec.Layers {
		if err := ggufWant(slices.Contains(spec.Attention.NoRope, l) == ((l+1)%4 == 0), "smollm3", "attention.no_rope", "every fourth layer",
			spec.Attention.NoRope); err != nil {
			return err
		}
	}
	return nil
}
