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
	kinds        []Kind
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
			stream.SiameseConfig{},
			stream.KeelConfig{},
			stream.WideConfig{},
			stream.LaurelConfig{},
			stream.TwoLaneConfig{},
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

// Kind is a choice for a section of a config: a struct with its defaults, whose tagged fields are the section's keys.
type Kind interface{ Name() string }

// WithKinds returns the zoo with more choices for sections that models do not read, such as
// optimizers (config.Optim).
func (z Zoo) WithKinds(kinds ...Kind) Zoo {
	z.kinds = append(slices.Clip(z.kinds), kinds...)
	return z
}

// Kinds are the choices that WithKinds has added.
func (z Zoo) Kinds() []Kind { return slices.Clone(z.kinds) }

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
		{Name: "rmt-46m", Config: RMT(6, 32, 32, 12, 1536), Paper: 46, PaperNote: noteRMT, Baseline: "transformer-49m"},
		{Name: "rmt-134m", Config: RMT(12, 32, 64, 12, 3072), Paper: 134, PaperNote: noteRMT, Baseline: "transformer-162m"},
		{Name: "rmt-206m", Config: RMT(18, 48, 64, 14, 3584), Paper: 206, PaperNote: noteRMT, Baseline: "transformer-264m"},
		{Name: "rmt-305m", Config: RMT(24, 64, 64, 16, 4096), Paper: 305, PaperNote: noteRMT, Baseline: "transformer-405m"},
		{Name: "transformer-49m", Config: Transformer(6, 384, 1536, 12), Paper: 49, PaperNote: noteTransformer},
		{Name: "transformer-162m", Config: Transformer(12, 768, 3072, 12), Paper: 160, PaperNote: noteTransformer},
		{Name: "transformer-264m", Config: Transformer(18, 896, 3584, 14), Paper: 260, PaperNote: noteTransformer},
		{Name: "transformer-405m", Config: Transformer(24, 1024, 4096, 16), Paper: 405, PaperNote: noteTransformer},
		{Name: "quickstart", Config: quickstart(RMT(4, 32, 32, 8, 1024)), Baseline: "quickstart-transformer"},
		{Name: "quickstart-transformer", Config: quickstart(Transformer(4, 256, 1024, 8))},
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
		{Name: "rmt-134m-lecun", Config: leCun(RMT(12, 32, 64, 12, 3072)), Paper: 134, PaperNote: noteLeCun},
		{Name: "rmt-dynamic-134m", Config: dynamicKeys(RMT(12, 32, 64, 12, 3072)), Baseline: "transformer-162m"},
		{Name: "highway-191m", Config: large.OnStream(stream.HighwayConfig{}), Paper: 191, PaperNote: noteHighway, Baseline: plain},
		{Name: "hieragg-165m", Config: large.OnStream(stream.HieraggConfig{}), Paper: 165, PaperNote: noteHierAgg, Baseline: plain},
		{Name: "hieragg-dou", Config: large.OnStream(stream.HieraggConfig{Inner: 4 * 768, Separate: true})},
		{Name: "dwlstm-233m", Config: large.OnStream(stream.DWLSTMConfig{}), Paper: 233, PaperNote: noteDWLSTM, Baseline: plain},
		{Name: "hyper-static-162m", Config: large.OnStream(stream.HyperConfig{N: 4}), Baseline: plain},
		{Name: "hyper-dynamic-162m", Config: large.OnStream(stream.HyperConfig{N: 4, Dynamic: true}), Baseline: plain},
		{Name: "mhc-162m", Config: large.OnStream(stream.MHCConfig{N: 4}), Baseline: plain},
		{Name: "mhc-lite-162m", Config: large.OnStream(stream.MHCLiteConfig{N: 4}), Baseline: plain},
		{Name: "kromhc-162m", Config: large.OnStream(stream.KromHCConfig{N: 4}), Baseline: plain},
		{Name: "gated-residual-162m", Config: large.OnStream(stream.GatedResidualConfig{N: 4, Rank: 80}), Baseline: plain},
		{Name: "denseformer-162m", Config: large.OnStream(stream.DenseFormerConfig{Dilation: 4, Period: 5}), Baseline: plain},
		{Name: "mudd-162m", Config: large.OnStream(stream.MUDDConfig{ExpandLast: true, Round64: true}), Baseline: plain},
		{Name: "attnres-162m", Config: large.OnStream(stream.AttnResConfig{Block: 3}), Baseline: plain},
		{Name: "attnres-full-162m", Config: large.OnStream(stream.AttnResConfig{}), Baseline: plain},
		{Name: "attnres-delta-162m", Config: large.OnStream(stream.AttnResConfig{Block: 2, Delta: true}), Baseline: plain},
		{Name: "deep-delta-162m", Config: large.OnStream(stream.DeepDeltaConfig{Dv: 4, Conv: 4}), Baseline: plain},
		{Name: "siamese-162m", Config: large.OnStream(stream.SiameseConfig{}), Baseline: plain},
		{Name: "keel-162m", Config: large.OnStream(stream.KeelConfig{}), Baseline: plain},
		{Name: "wide-162m", Config: large.OnStream(stream.WideConfig{N: 4}), Baseline: plain},
		{Name: "wide-latent-162m", Config: large.OnStream(stream.WideConfig{Form: "latent", Width: 1536}), Baseline: plain},
		{Name: "laurel-162m", Config: large.OnStream(stream.LaurelConfig{Rank: 32}), Baseline: plain},
		{Name: "laurel-gemma-162m", Config: large.OnStream(stream.LaurelConfig{Form: "gemma"}), Baseline: plain},
		{Name: "two-lane-162m", Config: large.OnStream(stream.TwoLaneConfig{}), Baseline: plain},
		{Name: "vwn-2x3", Config: large.OnStream(stream.VWNConfig{M: 2, N: 3}), Baseline: plain},
		{Name: "vwn-8x64", Config: large.OnStream(stream.VWNConfig{M: 8, N: 64}), Baseline: plain},
		{Name: "swiglu-162m", Config: feedForward(large, layers.SwiGLUConfig{Hidden: 2048}), Baseline: plain},
		{Name: "relu2-162m", Config: feedForward(large, layers.ReLU2Config{Hidden: 3072}), Baseline: plain},
		{Name: "modern-162m", Config: modern(large, 4, 2048), Baseline: plain, Modern: true},
		{Name: "rmt-modern-134m", Config: modern(RMT(12, 32, 64, 12, 3072), 0, 2048), Baseline: plain, Modern: true},
		{Name: "moe-8x2", Config: mixture(large, 3072/2), Baseline: plain},
		{Name: "rmt-134m-dk16", Config: RMT(12, 16, 64, 12, 3072)},
		{Name: "rmt-134m-dk64", Config: RMT(12, 64, 64, 12, 3072)},
		{Name: "rmt-134m-dk128", Config: RMT(12, 128, 64, 12, 3072)},
		{Name: "transformer-d512", Config: Transformer(12, 512, 4*512, 8)},
		{Name: "transformer-d1024", Config: Transformer(12, 1024, 4*1024, 16)},
		{Name: "transformer-d1536", Config: Transformer(12, 1536, 4*1536, 24)},
	}
	small, plain := quickstart(Transformer(4, 256, 1024, 8)), "quickstart-transformer"
	return append(list, []Preset{
		{Name: "quickstart-rmt-dynamic", Config: dynamicKeys(quickstart(RMT(4, 32, 32, 8, 1024))), Baseline: plain},
		{Name: "quickstart-highway", Config: small.OnStream(stream.HighwayConfig{}), Baseline: plain},
		{Name: "quickstart-hieragg", Config: small.OnStream(stream.HieraggConfig{}), Baseline: plain},
		{Name: "quickstart-dwlstm", Config: small.OnStream(stream.DWLSTMConfig{}), Baseline: plain},
		{Name: "quickstart-hyper-static", Config: small.OnStream(stream.HyperConfig{N: 4}), Baseline: plain},
		{Name: "quickstart-hyper-dynamic", Config: small.OnStream(stream.HyperConfig{N: 4, Dynamic: true}), Baseline: plain},
		{Name: "quickstart-mhc", Config: small.OnStream(stream.MHCConfig{N: 4}), Baseline: plain},
		{Name: "quickstart-mhc-lite", Config: small.OnStream(stream.MHCLiteConfig{N: 4}), Baseline: plain},
		{Name: "quickstart-kromhc", Config: small.OnStream(stream.KromHCConfig{N: 4}), Baseline: plain},
		{Name: "quickstart-gated-residual", Config: small.OnStream(stream.GatedResidualConfig{N: 4, Rank: 16}), Baseline: plain},
		{Name: "quickstart-denseformer", Config: small.OnStream(stream.DenseFormerConfig{}), Baseline: plain},
		{Name: "quickstart-mudd", Config: small.OnStream(stream.MUDDConfig{ExpandLast: true}), Baseline: plain},
		{Name: "quickstart-attnres", Config: small.OnStream(stream.AttnResConfig{}), Baseline: plain},
		{Name: "quickstart-attnres-delta", Config: small.OnStream(stream.AttnResConfig{Delta: true}), Baseline: plain},
		{Name: "quickstart-deep-delta", Config: small.OnStream(stream.DeepDeltaConfig{Dv: 4, Conv: 4}), Baseline: plain},
		{Name: "quickstart-deep-delta-vector", Config: small.OnStream(stream.DeepDeltaConfig{Dv: 1}), Baseline: plain},
		{Name: "quickstart-siamese", Config: small.OnStream(stream.SiameseConfig{}), Baseline: plain},
		{Name: "quickstart-keel", Config: small.OnStream(stream.KeelConfig{}), Baseline: plain},
		{Name: "quickstart-wide", Config: small.OnStream(stream.WideConfig{N: 4}), Baseline: plain},
		{Name: "quickstart-wide-latent", Config: small.OnStream(stream.WideConfig{Form: "latent", Width: 512}), Baseline: plain},
		{Name: "quickstart-laurel", Config: small.OnStream(stream.LaurelConfig{Rank: 8}), Baseline: plain},
		{Name: "quickstart-laurel-gemma", Config: small.OnStream(stream.LaurelConfig{Form: "gemma", Rank: 8}), Baseline: plain},
		{Name: "quickstart-two-lane", Config: small.OnStream(stream.TwoLaneConfig{}), Baseline: plain},
		{Name: "quickstart-vwn", Config: small.OnStream(stream.VWNConfig{M: 2, N: 3}), Baseline: plain},
		{Name: "quickstart-swiglu", Config: feedForward(small, layers.SwiGLUConfig{Hidden: 688}), Baseline: plain},
		{Name: "quickstart-relu2", Config: feedForward(small, layers.ReLU2Config{Hidden: 1024}), Baseline: plain},
		{Name: "quickstart-modern", Config: modern(small, 2, 704), Baseline: plain, Modern: true},
		{Name: "quickstart-rmt-modern", Config: modern(quickstart(RMT(4, 32, 32, 8, 1024)), 0, 704), Baseline: plain, Modern: true},
		{Name: "quickstart-moe", Config: mixture(small, 512), Baseline: plain},
		{Name: "quickstart-looped", Config: looped(small, 1, 3, 3), Baseline: plain},
		{Name: "quickstart-relu", Config: feedForward(small, layers.ReLUConfig{Hidden: 1024})},
		{Name: "attention-only", Config: attentionOnly(small, 2)},
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

// looped is the model whose tokens pass blocks begin to end-1 several times.
func looped(c Config, begin, end, times int) Config {
	c.LoopBegin, c.LoopEnd, c.Loops = begin, end, times
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
