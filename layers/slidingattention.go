package layers

import (
	"math"
	"slices"

	"github.com/residua-go/residua/graph"
)

// SlidingAttention is the design of softmax attention in a sliding window (Beltagy et al. 2020,
// arXiv 2004.05150) with sinks (Xiao et al. 2024, arXiv 2309.17453): token i of a document that
// begins at s sees the tokens j with
//
//	max(s, i - Window + 1) <= j <= i   or   s <= j < min(s + Sinks, i + 1)
//
// If documents are not masked, s is 0, the beginning of the row.
type SlidingAttention struct {
	SoftmaxAttention
	Window   int     `yaml:"window" default:"required" max:"1048576" help:"tokens that a token sees, itself included"`
	Sinks    int     `yaml:"sinks" max:"1048576" help:"how many of the first tokens of its document a token sees, too; of its row, if documents are not masked"`
	RopeBase float64 `yaml:"window_rope_base" help:"rope: base of the wavelengths where attention slides, without rope_scaling; 0: as elsewhere"`
	Layers   []int   `yaml:"layers" default:"all" max:"4095" help:"the blocks, from 0 and rising, whose attention slides; the others see all tokens before"`
}

// Name returns "sliding".
func (SlidingAttention) Name() string { return "sliding" }

// Card describes a sliding window.
func (SlidingAttention) Card() Card {
	return Card{
		Title:    "Sliding window with sinks",
		Equation: "o_i = sum over j of softmax_j(scale q_i . k_j) v_j,   i - window < j <= i   or   j < sinks",
		Source: "Beltagy et al. 2020, arXiv 2004.05150; sinks: Xiao et al. 2024, arXiv 2309.17453; layer by layer as in Mistral (arXiv 2310.06825) and " +
			"Qwen3 (arXiv 2505.09388)",
		Use: "Not a stream but an attention, under any of them: FLOPs a token are bounded by the window, and L layers reach L windows back. Sinks keep the " +
			"first tokens of a document in sight. Generation's cache keeps the keys and values of all tokens; a GPU is refused.",
	}
}

// Check returns an error unless there is a window and the listed layers exist.
func (c SlidingAttention) Check(layers int) error {
	if err := CheckSize("window", c.Window); err != nil {
		return err
	}
	if c.Sinks < 0 || c.Sinks > MaxSize {
		return Setting("sinks", "want 0 to %d, got %d", MaxSize, c.Sinks)
	}
	if c.RopeBase != 0 && !(c.RopeBase > 1 && c.RopeBase <= math.MaxFloat32) {
		return Setting("window_rope_base", "want > 1, or 0 for that of all blocks, got %g", c.RopeBase)
	}
	for i, l := range c.Layers {
		switch {
		case l < 0 || l >= layers:
			return Setting("layers", "want layers from 0 to %d, got %d", layers-1, l)
		case i > 0 && l <= c.Layers[i-1]:
			return Setting("layers", "want each layer once, rising, got %d after %d", l, c.Layers[i-1])
		}
	}
	return nil
}

// Exceptions returns the listed layers.
func (c SlidingAttention) Exceptions() []int { return c.Layers }

// Slides tells whether the attention of a layer has the window.
func (c SlidingAttention) Slides(layer int) bool {
	return len(c.Layers) == 0 || slices.Contains(c.Layers, layer)
}

// windowed returns the layer's attention with its window.
func (c SlidingAttention) windowed(a AttentionConfig) AttentionConfig {
	if c.Slides(a.Layer) {
		a.Window, a.Sinks = c.Window, c.Sinks
		if c.RopeBase != 0 && a.RopeBase != 0 {
			a.RopeBase, a.Rope = c.RopeBase, RopeScaling{}
		}
	}
	return a
}

// Cost counts the products with the keys that a token sees.
func (c SlidingAttention) Cost(a AttentionConfig, seq float64) Cost { return c.windowed(a).Cost(seq) }

// New makes a CausalAttention with or without the window.
func (c SlidingAttention) New(b *graph.Builder, name string, a AttentionConfig) Attention {
	return NewAttention(b, name, c.windowed(a))
}
