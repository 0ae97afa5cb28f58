package pretrained

import (
	"maps"
	"math"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// granite is Granite (IBM 2024): Llama with factors of the embedding, of what sublayers add, of the
// attention's logits and of the logits.
func granite() Architecture {
	a := llama()
	a.Type, a.Class, a.Read, a.Write, a.Unused = "granite", "GraniteForCausalLM", readGranite, writeGranite, nil
	a.Keys += "embedding_multiplier embedding_scale\nresidual_multiplier residual_scale\nattention_multiplier attention.scale\n"
	a.GGUF = &GGUFForm{Neighbours: true}
	return a
}

// readGranite reads Granite's factors. A factor that the file lacks is 1, including the
// attention's.
func readGranite(m *Described, text []byte) error {
	c := struct {
		Logits float64 `json:"logits_scaling"`
	}{1}
	if err := unmarshal(text, &c); err != nil {
		return err
	}
	if !(c.Logits > 0) {
		return layers.Setting("logits_scaling", "want above 0, got %g", c.Logits)
	}
	m.LogitScale = 1 / c.Logits
	if m.Attention.Scale == 0 {
		m.Attention.Scale = 1
	}
	for _, factor := range []*float64{&m.EmbeddingScale, &m.ResidualScale, &m.LogitScale} {
		if *factor == 1 {
			*factor = 0
		}
	}
	return readLlama(m, text)
}

func writeGranite(spec models.Spec) map[string]any {
	config, scales := writeLlama(spec), spec.Scales()
	maps.Copy(config, map[string]any{"embedding_multiplier": scales.Embedding, "residual_multiplier": 1.0, "attention_multiplier": scales.Attention,
		"logits_scaling": inverse(func(x float64) float64 { return x }, scales.Logits)})
	if spec.ResidualScale != 0 {
		config["residual_multiplier"] = spec.ResidualScale
	}
	return config
}

// inverse returns the number x with 1/f(x) = y in float64, a whole one if there is one: f is the
// identity or a square root.
func inverse(f func(float64) float64, y float64) float64 {
	x := 1 / y
	if f(4) == 2 {
		x *= x
	}
	for _, near := range []float64{math.Round(x), math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1))} {
		if 1/f(near) == y {
			return near
		}
	}
	return x
}
