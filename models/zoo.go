package models

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Zoo is a list of designs and presets, from which configs, commands and tests learn what
// there is. It is a value: Standard is ours, With makes another.
type Zoo struct {
	streams      []stream.Design
	feedForwards []layers.FeedForwardDesign
	presets      []Preset
}

// Standard returns the zoo of this module: its residual streams and feed-forwards in reading
// order, without settings, and its presets. A new one adds its line here, and its presets below.
func Standard() Zoo {
	return Zoo{
		streams: []stream.Design{
			stream.MatrixConfig{},
			stream.DynamicMatrixConfig{},
			stream.VectorConfig{},
			stream.HyperConfig{},
			stream.MHCConfig{},
			stream.MHCLiteConfig{},
			stream.KromHCConfig{},
			stream.VWNConfig{},
			stream.HighwayConfig{},
			stream.HieraggConfig{},
			stream.DWLSTMConfig{},
			stream.DenseFormerConfig{},
			stream.MUDDConfig{},
			stream.GatedResidualConfig{},
			stream.AttnResConfig{},
			stream.DeepDeltaConfig{},
		},
		feedForwards: []layers.FeedForwardDesign{
			layers.GELUConfig{},
			layers.SwiGLUConfig{},
			layers.ReLUConfig{},
			layers.ReLU2Config{},
			layers.MoEConfig{},
			layers.NoFeedForward{},
		},
		presets: presets(),
	}
}

// With returns the zoo with one more stream design, without settings, and presets of it. A name that
// the zoo has already is an error wherever it is looked up.
func (z Zoo) With(d stream.Design, presets ...Preset) Zoo {
	z.streams = append(slices.Clip(z.streams), d)
	return z.WithPresets(presets...)
}

// WithPresets returns the zoo with more presets.
func (z Zoo) WithPresets(presets ...Preset) Zoo {
	z.presets = append(slices.Clip(z.presets), presets...)
	return z
}

// WithFeedForward returns the zoo with one more feed-forward design, without settings.
func (z Zoo) WithFeedForward(d layers.FeedForwardDesign) Zoo {
	z.feedForwards = append(slices.Clip(z.feedForwards), d)
	return z
}

// Streams are the designs of streams.
func (z Zoo) Streams() []stream.Design { return slices.Clone(z.streams) }

// FeedForwards are the designs of feed-forwards.
func (z Zoo) FeedForwards() []layers.FeedForwardDesign { return slices.Clone(z.feedForwards) }

// Presets are the known models.
func (z Zoo) Presets() []Preset { return slices.Clone(z.presets) }

// Stream returns the design of that name, without settings. It is an error if the zoo has none, or
// several.
func (z Zoo) Stream(name string) (stream.Design, error) { return find("stream", z.streams, name) }

// FeedForward returns the design of that name, without settings.
func (z Zoo) FeedForward(name string) (layers.FeedForwardDesign, error) {
	return find("feed-forward", z.feedForwards, name)
}

// find is the design of a name, of which there must be one.
func find[D namedDesign](what string, designs []D, name string) (D, error) {
	var found []D
	for _, d := range designs {
		if d.Name() == name {
			found = append(found, d)
		}
	}
	var none D
	switch len(found) {
	case 0:
		return none, errors.Errorf("unknown %s %q: want one of %s", what, name, strings.Join(namesOf(designs), ", "))
	case 1:
		return found[0], nil
	}
	return none, errors.Errorf("%s %q: want one design of that name in the zoo, got %T and %T: rename one", what, name, found[0], found[1])
}

// Preset returns the preset of that name. It is an error if the zoo has none, or several.
func (z Zoo) Preset(name string) (Preset, error) {
	var found []Preset
	for _, p := range z.presets {
		if p.Name == name {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return Preset{}, errors.Errorf("preset: want one of %v, got %q", z.PresetNames(), name)
	case 1:
		return found[0], nil
	}
	return Preset{}, errors.Errorf("preset: want one called %q in the zoo, got %d: rename the others", name, len(found))
}

// PresetNames are the names of the presets, in order.
func (z Zoo) PresetNames() []string {
	var names []string
	for _, p := range z.presets {
		names = append(names, p.Name)
	}
	return names
}

// StreamNames are the names of the streams, in order.
func (z Zoo) StreamNames() []string { return namesOf(z.streams) }

func namesOf[D namedDesign](designs []D) []string {
	var names []string
	for _, d := range designs {
		names = append(names, d.Name())
	}
	return names
}

// The RMT paper's count (Table 7) leaves things out; Cost counts everything. Its printed sizes are too
// coarse to show it.
const (
	noteRMT         = "Table 7 counts no norm gains"
	noteTransformer = "Table 7 counts neither positions nor norm gains"
)

// presets are the known models in reading order: those of the RMT paper's Table 9
// (Dk and Dv of the 206M and 305M rows as the printed sizes imply), with the GPT-2
// vocabulary, untied, learned positions, 512 tokens; the two quickstart models; and the
// other residual designs.
func presets() []Preset {
	return append([]Preset{
		{"rmt-46m", RMT(6, 32, 32, 12, 1536), 46, noteRMT, "transformer-49m"},
		{"rmt-134m", RMT(12, 32, 64, 12, 3072), 134, noteRMT, "transformer-162m"},
		{"rmt-206m", RMT(18, 48, 64, 14, 3584), 206, noteRMT, "transformer-264m"},
		{"rmt-305m", RMT(24, 64, 64, 16, 4096), 305, noteRMT, "transformer-405m"},
		{"transformer-49m", Transformer(6, 384, 1536, 12), 49, noteTransformer, ""},
		{"transformer-162m", Transformer(12, 768, 3072, 12), 160, noteTransformer, ""},
		{"transformer-264m", Transformer(18, 896, 3584, 14), 260, noteTransformer, ""},
		{"transformer-405m", Transformer(24, 1024, 4096, 16), 405, noteTransformer, ""},
		{"quickstart", quickstart(RMT(4, 32, 32, 8, 1024)), 0, "", "quickstart-transformer"},
		{"quickstart-transformer", quickstart(Transformer(4, 256, 1024, 8)), 0, "", ""},
	}, zooPresets()...)
}

// Notes on the printed sizes of the other residual designs (RMT paper, Table 10).
const (
	noteHighway = "4 D^2 a block more than the transformer's"
	noteHierAgg = "one aggregate shared by all pairs of blocks matches the size, not the source: see hieragg-dou"
	noteDWLSTM  = "the cell is reconstructed from its abstract and this size"
	noteLeCun   = "Table 7 counts no norm gains; Table 10's runs start with LeCun's init"
)

// zooPresets are the residual designs at the shape of transformer-162m, those of the RMT
// paper's Table 10 and newer ones; the sizes of its figure 6, where the residual stream
// grows by itself in the RMT and with the width in the transformer; and a small one of
// each design for byte-level text.
func zooPresets() []Preset {
	large, plain := Transformer(12, 768, 3072, 12), "transformer-162m"
	list := []Preset{
		{"rmt-134m-lecun", leCun(RMT(12, 32, 64, 12, 3072)), 134, noteLeCun, ""},
		{"rmt-dynamic-134m", dynamicKeys(RMT(12, 32, 64, 12, 3072)), 0, "", "transformer-162m"},
		{"highway-191m", large.OnStream(stream.HighwayConfig{}), 191, noteHighway, plain},
		{"hieragg-165m", large.OnStream(stream.HieraggConfig{}), 165, noteHierAgg, plain},
		{"hieragg-dou", large.OnStream(stream.HieraggConfig{Inner: 4 * 768, Separate: true}), 0, "", ""},
		{"dwlstm-233m", large.OnStream(stream.DWLSTMConfig{}), 233, noteDWLSTM, plain},
		{"hyper-static-162m", large.OnStream(stream.HyperConfig{N: 4}), 0, "", plain},
		{"hyper-dynamic-162m", large.OnStream(stream.HyperConfig{N: 4, Dynamic: true}), 0, "", plain},
		{"mhc-162m", large.OnStream(stream.MHCConfig{N: 4}), 0, "", plain},
		{"mhc-lite-162m", large.OnStream(stream.MHCLiteConfig{N: 4}), 0, "", plain},
		{"kromhc-162m", large.OnStream(stream.KromHCConfig{N: 4}), 0, "", plain},
		{"gated-residual-162m", large.OnStream(stream.GatedResidualConfig{N: 4, Rank: 80}), 0, "", plain},
		{"denseformer-162m", large.OnStream(stream.DenseFormerConfig{Dilation: 4, Period: 5}), 0, "", plain},
		{"mudd-162m", large.OnStream(stream.MUDDConfig{ExpandLast: true, Round64: true}), 0, "", plain},
		{"attnres-162m", large.OnStream(stream.AttnResConfig{Block: 3}), 0, "", plain},
		{"attnres-full-162m", large.OnStream(stream.AttnResConfig{}), 0, "", plain},
		{"deep-delta-162m", large.OnStream(stream.DeepDeltaConfig{Dv: 4, Conv: 4}), 0, "", plain},
		{"vwn-2x3", large.OnStream(stream.VWNConfig{M: 2, N: 3}), 0, "", plain},
		{"vwn-8x64", large.OnStream(stream.VWNConfig{M: 8, N: 64}), 0, "", plain},
		{"swiglu-162m", feedForward(large, layers.SwiGLUConfig{Hidden: 2048}), 0, "", plain},
		{"relu2-162m", feedForward(large, layers.ReLU2Config{Hidden: 3072}), 0, "", plain},
		{"modern-162m", modern(large, 4, 2048), 0, "", plain},
		{"rmt-modern-134m", modern(RMT(12, 32, 64, 12, 3072), 0, 2048), 0, "", plain},
		{"moe-8x2", mixture(large, 3072/2), 0, "", plain},
		{"rmt-134m-dk16", RMT(12, 16, 64, 12, 3072), 0, "", ""},
		{"rmt-134m-dk64", RMT(12, 64, 64, 12, 3072), 0, "", ""},
		{"rmt-134m-dk128", RMT(12, 128, 64, 12, 3072), 0, "", ""},
		{"transformer-d512", Transformer(12, 512, 4*512, 8), 0, "", ""},
		{"transformer-d1024", Transformer(12, 1024, 4*1024, 16), 0, "", ""},
		{"transformer-d1536", Transformer(12, 1536, 4*1536, 24), 0, "", ""},
	}
	small, plain := quickstart(Transformer(4, 256, 1024, 8)), "quickstart-transformer"
	return append(list, []Preset{
		{"quickstart-rmt-dynamic", dynamicKeys(quickstart(RMT(4, 32, 32, 8, 1024))), 0, "", plain},
		{"quickstart-highway", small.OnStream(stream.HighwayConfig{}), 0, "", plain},
		{"quickstart-hieragg", small.OnStream(stream.HieraggConfig{}), 0, "", plain},
		{"quickstart-dwlstm", small.OnStream(stream.DWLSTMConfig{}), 0, "", plain},
		{"quickstart-hyper-static", small.OnStream(stream.HyperConfig{N: 4}), 0, "", plain},
		{"quickstart-hyper-dynamic", small.OnStream(stream.HyperConfig{N: 4, Dynamic: true}), 0, "", plain},
		{"quickstart-mhc", small.OnStream(stream.MHCConfig{N: 4}), 0, "", plain},
		{"quickstart-mhc-lite", small.OnStream(stream.MHCLiteConfig{N: 4}), 0, "", plain},
		{"quickstart-kromhc", small.OnStream(stream.KromHCConfig{N: 4}), 0, "", plain},
		{"quickstart-gated-residual", small.OnStream(stream.GatedResidualConfig{N: 4, Rank: 16}), 0, "", plain},
		{"quickstart-denseformer", small.OnStream(stream.DenseFormerConfig{}), 0, "", plain},
		{"quickstart-mudd", small.OnStream(stream.MUDDConfig{ExpandLast: true}), 0, "", plain},
		{"quickstart-attnres", small.OnStream(stream.AttnResConfig{}), 0, "", plain},
		{"quickstart-deep-delta", small.OnStream(stream.DeepDeltaConfig{Dv: 4, Conv: 4}), 0, "", plain},
		{"quickstart-deep-delta-vector", small.OnStream(stream.DeepDeltaConfig{Dv: 1}), 0, "", plain},
		{"quickstart-vwn", small.OnStream(stream.VWNConfig{M: 2, N: 3}), 0, "", plain},
		{"quickstart-swiglu", feedForward(small, layers.SwiGLUConfig{Hidden: 688}), 0, "", plain},
		{"quickstart-relu2", feedForward(small, layers.ReLU2Config{Hidden: 1024}), 0, "", plain},
		{"quickstart-modern", modern(small, 2, 704), 0, "", plain},
		{"quickstart-rmt-modern", modern(quickstart(RMT(4, 32, 32, 8, 1024)), 0, 704), 0, "", plain},
		{"quickstart-moe", mixture(small, 512), 0, "", plain},
		{"quickstart-relu", feedForward(small, layers.ReLUConfig{Hidden: 1024}), 0, "", ""},
		{"attention-only", attentionOnly(small, 2), 0, "", ""},
	}...)
}

// modern is the model with the blocks of Llama and Qwen3 (Touvron et al. 2023, arXiv 2302.13971; Yang
// et al. 2025, arXiv 2505.09388): RMSNorm, rotary positions, QK-norm, a SwiGLU, so many heads of keys and
// values (0: as many as heads), no biases.
func modern(c Config, kvHeads, hidden int) Config {
	c.Norm, c.Attention.Positions, c.Attention.InverseLayerScaling = NormRMS, PositionsRoPE, false
	c.Attention.KVHeads, c.Attention.QKNorm = kvHeads, true
	return feedForward(c, layers.SwiGLUConfig{Hidden: hidden})
}

// mixture is the model with 8 experts of the given hidden width, two a token.
func mixture(c Config, hidden int) Config {
	return feedForward(c, layers.MoEConfig{Hidden: hidden, Experts: 8, TopK: 2})
}

// dynamicKeys is the RMT with keys that depend on the stream.
func dynamicKeys(c Config) Config {
	c.Stream = stream.DynamicMatrixConfig(c.Stream.(stream.MatrixConfig))
	return c
}

// feedForward is the model with another feed-forward.
func feedForward(c Config, d layers.FeedForwardDesign) Config {
	c.FeedForward = d
	return c
}

// attentionOnly is the model with so many blocks of attention alone, the patterns' scale the same in all,
// as Elhage et al. 2021 analyse two.
func attentionOnly(c Config, blocks int) Config {
	c.Layers, c.Attention.InverseLayerScaling = blocks, false
	return feedForward(c, layers.NoFeedForward{})
}

func leCun(c Config) Config {
	c.Init = InitLeCun
	return c
}

// gpt2Vocab is the size of GPT-2's vocabulary.
const gpt2Vocab = 50257

// RMT is the Residual Matrix Transformer: a matrix stream [dk, dv] with so many heads, learned positions, GPT-2's
// vocabulary and rows of 512 tokens.
func RMT(blocks, dk, dv, rank, ff int) Config {
	return Config{Stream: stream.MatrixConfig{Dk: dk, Dv: dv, Rank: rank}, Layers: blocks,
		FeedForward: layers.GELUConfig{Hidden: ff}, Vocab: gpt2Vocab, Seq: 512}
}

// Transformer is GPT-2's kind of model: a vector stream, learned positions, GPT-2's vocabulary
// and rows of 512 tokens.
func Transformer(blocks, d, ff, heads int) Config {
	return Config{Stream: stream.VectorConfig{Vectors: stream.Vectors{D: d}}, Layers: blocks, Attention: Attention{Heads: heads},
		FeedForward: layers.GELUConfig{Hidden: ff}, Vocab: gpt2Vocab, Seq: 512}
}

// quickstart is a byte-level model that learns Go source in minutes.
func quickstart(c Config) Config {
	c.Vocab, c.Seq, c.Init = 257, 128, InitLeCun
	c.Attention.Positions, c.Attention.InverseLayerScaling = PositionsALiBi, true
	return c
}
