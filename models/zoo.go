package models

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// Zoo lists the designs and presets that configs, commands and tests can use. It is a value:
// Standard returns this module's, With returns a zoo with one more design.
type Zoo struct {
	kinds   []Kind
	presets []Preset
}

// Standard returns the zoo of this module: its residual streams, attentions and feed-forwards in
// reading order, without settings, and its presets. A new design adds its line here, and its
// presets below.
func Standard() Zoo {
	return Zoo{
		kinds: []Kind{
			stream.MatrixConfig{},
			stream.DynamicMatrixConfig{},
			stream.VectorConfig{},
			stream.HyperConfig{},
			stream.MHCConfig{},
			stream.MHCLiteConfig{},
			stream.KromHCConfig{},
			stream.IHCConfig{},
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
			stream.AltUpConfig{},
			stream.TwoLaneConfig{},
			stream.ConvWrites{},
			stream.NoWrites{},
			layers.SoftmaxAttention{},
			layers.SlidingAttention{},
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

// With returns the zoo with one more stream design, without settings, and presets of it. A name
// that the zoo has already is an error wherever it is looked up.
func (z Zoo) With(d stream.Design, presets ...Preset) Zoo {
	return z.WithKinds(d).WithPresets(presets...)
}

// WithPresets returns the zoo with more presets.
func (z Zoo) WithPresets(presets ...Preset) Zoo {
	z.presets = append(slices.Clip(z.presets), presets...)
	return z
}

// Kind is a choice for a section of a config: a struct whose tagged fields are the section's keys.
// The designs of a model are listed without settings, other kinds with their defaults.
type Kind interface{ Name() string }

// WithKinds returns the zoo with more kinds. They may be designs of streams, attentions and
// feed-forwards, kinds for sections that models do not read, such as optimizers (runconfig.Optim),
// formats of files (pretrained.Importer, Exporter, Architecture) and commands (cli.Command). A
// program that has no use for one of them (cli.Main) returns an error that names its type.
func (z Zoo) WithKinds(kinds ...Kind) Zoo {
	z.kinds = append(slices.Clip(z.kinds), kinds...)
	return z
}

// KindsOf returns the zoo's choices of a type, such as an interface.
func KindsOf[T any](z Zoo) []T {
	var all []T
	for _, kind := range z.kinds {
		if k, ok := kind.(T); ok {
			all = append(all, k)
		}
	}
	return all
}

// Streams returns the designs of streams.
func (z Zoo) Streams() []stream.Design { return KindsOf[stream.Design](z) }

// FeedForwards returns the designs of feed-forwards.
func (z Zoo) FeedForwards() []layers.FeedForwardDesign { return KindsOf[layers.FeedForwardDesign](z) }

// Attentions returns the designs of attentions.
func (z Zoo) Attentions() []layers.AttentionDesign { return KindsOf[layers.AttentionDesign](z) }

// Presets returns the known models.
func (z Zoo) Presets() []Preset { return slices.Clone(z.presets) }

// Stream returns the design of that name, without settings. It returns an error unless the zoo has
// exactly one.
func (z Zoo) Stream(name string) (stream.Design, error) { return Find("stream", z.Streams(), name) }

// Find returns the design or kind of that name. It returns an error unless there is exactly one;
// what says, for the error, what is looked for.
func Find[D Kind](what string, designs []D, name string) (D, error) {
	found := slices.DeleteFunc(slices.Clone(designs), func(d D) bool { return d.Name() != name })
	var none D
	switch len(found) {
	case 0:
		return none, errors.Errorf("unknown %s %q: want one of %s", what, name, strings.Join(NamesOf(designs), ", "))
	case 1:
		return found[0], nil
	}
	return none, errors.Errorf("%s %q: want one of that name in the zoo, got %T and %T: rename one", what, name, found[0], found[1])
}

// Preset returns the preset of that name. It returns an error unless the zoo has exactly one.
func (z Zoo) Preset(name string) (Preset, error) {
	found := slices.DeleteFunc(z.Presets(), func(p Preset) bool { return p.Name != name })
	switch len(found) {
	case 0:
		return Preset{}, errors.Errorf("preset: want one of %v, got %q", z.PresetNames(), name)
	case 1:
		return found[0], nil
	}
	return Preset{}, errors.Errorf("preset: want one called %q in the zoo, got %d: rename the others", name, len(found))
}

// PresetNames returns the names of the presets, in order.
func (z Zoo) PresetNames() []string {
	var names []string
	for _, p := range z.presets {
		names = append(names, p.Name)
	}
	return names
}

// StreamNames returns the names of the streams, in order.
func (z Zoo) StreamNames() []string { return NamesOf(z.Streams()) }

// NamesOf returns the names of designs or kinds, in order.
func NamesOf[D Kind](designs []D) []string {
	var names []string
	for _, d := range designs {
		names = append(names, d.Name())
	}
	return names
}

// The RMT paper's count (Table 7) leaves things out; Cost counts everything. The sizes that
// the paper prints are too coarse to show the difference.
const (
	noteRMT         = "Table 7 counts no norm gains"
	noteTransformer = "Table 7 counts neither positions nor norm gains"
)

// presets returns the known models in reading order: the models of the RMT paper's Table 9
// (Dk and Dv of the 206M and 305M rows as the printed sizes imply), with the GPT-2
// vocabulary, untied, learned positions, 512 tokens; the two quickstart models; and the
// other residual designs.
func presets() []Preset {
	return slices.Concat([]Preset{
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
	}, largePresets(), smallPresets())
}

// Notes on the printed sizes of the other residual designs (RMT paper, Table 10).
const (
	noteHighway = "4 D^2 a block more than the transformer's"
	noteHierAgg = "one aggregate shared by all pairs of blocks matches the size, not the source: see hieragg-dou"
	noteDWLSTM  = "the cell is reconstructed from its abstract and this size"
	noteLeCun   = "Table 7 counts no norm gains; Table 10's runs start with LeCun's init"
)

// largePresets returns the residual designs at the shape of transformer-162m, from the RMT paper's
// Table 10 and newer ones, and the sizes of its figure 6, where the residual stream grows alone in
// the RMT and with the width in the transformer.
func largePresets() []Preset {
	large, rmt, plain := Transformer(12, 768, 3072, 12), RMT(12, 32, 64, 12, 3072), "transformer-162m"
	on := large.OnStream
	return slices.Concat([]Preset{
		{Name: "rmt-134m-lecun", Config: leCun(rmt), Paper: 134, PaperNote: noteLeCun},
		{Name: "rmt-dynamic-134m", Config: dynamicKeys(rmt), Baseline: plain},
		{Name: "highway-191m", Config: on(stream.HighwayConfig{}), Paper: 191, PaperNote: noteHighway, Baseline: plain},
		{Name: "hieragg-165m", Config: on(stream.HieraggConfig{}), Paper: 165, PaperNote: noteHierAgg, Baseline: plain},
		{Name: "hieragg-dou", Config: on(stream.HieraggConfig{Inner: 4 * 768, Separate: true})},
		{Name: "dwlstm-233m", Config: on(stream.DWLSTMConfig{}), Paper: 233, PaperNote: noteDWLSTM, Baseline: plain},
	}, compared(plain, []named{
		{"hyper-static-162m", on(stream.HyperConfig{N: 4})},
		{"hyper-dynamic-162m", on(stream.HyperConfig{N: 4, Dynamic: true})},
		{"mhc-162m", on(stream.MHCConfig{N: 4})},
		{"mhc-single-pass-162m", on(stream.MHCConfig{N: 4, RowOptions: singlePass()})},
		{"mhc-lite-162m", on(stream.MHCLiteConfig{N: 4})},
		{"kromhc-162m", on(stream.KromHCConfig{N: 4})},
		{"ihc-162m", on(stream.IHCConfig{N: 4})},
		{"gated-residual-162m", on(stream.GatedResidualConfig{N: 4, Rank: 80})},
		{"denseformer-162m", on(stream.DenseFormerConfig{Dilation: 4, Period: 5})},
		{"mudd-162m", on(stream.MUDDConfig{ExpandLast: true, Round64: true})},
		{"attnres-162m", on(stream.AttnResConfig{Block: 3})},
		{"attnres-full-162m", on(stream.AttnResConfig{})},
		{"attnres-delta-162m", on(stream.AttnResConfig{Block: 2, Delta: true})},
		{"deep-delta-162m", on(stream.DeepDeltaConfig{Dv: 4, Conv: 4})},
		{"siamese-162m", on(stream.SiameseConfig{})},
		{"keel-162m", on(stream.KeelConfig{})},
		{"wide-162m", on(stream.WideConfig{N: 4})},
		{"wide-latent-162m", on(stream.WideConfig{Form: "latent", Width: 1536})},
		{"laurel-162m", on(stream.LaurelConfig{Rank: 32})},
		{"laurel-gemma-162m", on(stream.LaurelConfig{Form: "gemma"})},
		{"altup-162m", on(stream.AltUpConfig{N: 4})},
		{"altup-gemma-162m", on(stream.AltUpConfig{N: 4, LaurelRank: 64})},
		{"two-lane-162m", on(stream.TwoLaneConfig{})},
		{"vwn-2x3", on(stream.VWNConfig{M: 2, N: 3})},
		{"vwn-8x64", on(stream.VWNConfig{M: 8, N: 64})},
		{"swiglu-162m", feedForward(large, layers.SwiGLUConfig{Hidden: 2048})},
		{"relu2-162m", feedForward(large, layers.ReLU2Config{Hidden: 3072})},
		{"conv-162m", convolved(large)},
		{"rmt-conv-134m", convolved(rmt)},
	}), []Preset{
		{Name: "nanochat-162m", Config: trainedAs(large, NanoChat(12, 768, 3072, 12)), Baseline: plain, Card: nanoChatCard()},
		{Name: "modern-162m", Config: modern(large, 4, 2048), Baseline: plain, Modern: true},
		{Name: "rmt-modern-134m", Config: modern(rmt, 0, 2048), Baseline: plain, Modern: true},
		{Name: "moe-8x2", Config: mixture(large, 3072/2), Baseline: plain},
	}, compared("", []named{
		{"rmt-134m-dk16", RMT(12, 16, 64, 12, 3072)},
		{"rmt-134m-dk64", RMT(12, 64, 64, 12, 3072)},
		{"rmt-134m-dk128", RMT(12, 128, 64, 12, 3072)},
		{"transformer-d512", Transformer(12, 512, 4*512, 8)},
		{"transformer-d1024", Transformer(12, 1024, 4*1024, 16)},
		{"transformer-d1536", Transformer(12, 1536, 4*1536, 24)},
	}))
}

// smallPresets returns a small preset of each design for byte-level text.
func smallPresets() []Preset {
	small, rmt, plain := quickstart(Transformer(4, 256, 1024, 8)), quickstart(RMT(4, 32, 32, 8, 1024)), "quickstart-transformer"
	on := small.OnStream
	return slices.Concat(compared(plain, []named{
		{"quickstart-rmt-dynamic", dynamicKeys(rmt)},
		{"quickstart-highway", on(stream.HighwayConfig{})},
		{"quickstart-hieragg", on(stream.HieraggConfig{})},
		{"quickstart-dwlstm", on(stream.DWLSTMConfig{})},
		{"quickstart-hyper-static", on(stream.HyperConfig{N: 4})},
		{"quickstart-hyper-dynamic", on(stream.HyperConfig{N: 4, Dynamic: true})},
		{"quickstart-mhc", on(stream.MHCConfig{N: 4})},
		{"quickstart-mhc-single-pass", on(stream.MHCConfig{N: 4, RowOptions: singlePass()})},
		{"quickstart-mhc-lite", on(stream.MHCLiteConfig{N: 4})},
		{"quickstart-kromhc", on(stream.KromHCConfig{N: 4})},
		{"quickstart-ihc", on(stream.IHCConfig{N: 4})},
		{"quickstart-ihc-static", on(stream.IHCConfig{N: 4, Static: true})},
		{"quickstart-gated-residual", on(stream.GatedResidualConfig{N: 4, Rank: 16})},
		{"quickstart-denseformer", on(stream.DenseFormerConfig{})},
		{"quickstart-mudd", on(stream.MUDDConfig{ExpandLast: true})},
		{"quickstart-attnres", on(stream.AttnResConfig{})},
		{"quickstart-attnres-delta", on(stream.AttnResConfig{Delta: true})},
		{"quickstart-deep-delta", on(stream.DeepDeltaConfig{Dv: 4, Conv: 4})},
		{"quickstart-deep-delta-vector", on(stream.DeepDeltaConfig{Dv: 1})},
		{"quickstart-siamese", on(stream.SiameseConfig{})},
		{"quickstart-keel", on(stream.KeelConfig{})},
		{"quickstart-wide", on(stream.WideConfig{N: 4})},
		{"quickstart-wide-latent", on(stream.WideConfig{Form: "latent", Width: 512})},
		{"quickstart-laurel", on(stream.LaurelConfig{Rank: 8})},
		{"quickstart-laurel-gemma", on(stream.LaurelConfig{Form: "gemma", Rank: 8})},
		{"quickstart-altup", on(stream.AltUpConfig{N: 4})},
		{"quickstart-altup-gemma", on(stream.AltUpConfig{N: 4, LaurelRank: 8})},
		{"quickstart-two-lane", on(stream.TwoLaneConfig{})},
		{"quickstart-vwn", on(stream.VWNConfig{M: 2, N: 3})},
		{"quickstart-swiglu", feedForward(small, layers.SwiGLUConfig{Hidden: 688})},
		{"quickstart-relu2", feedForward(small, layers.ReLU2Config{Hidden: 1024})},
		{"quickstart-conv", convolved(small)},
		{"quickstart-rmt-conv", convolved(rmt)},
	}), []Preset{
		{Name: "quickstart-nanochat", Config: trainedAs(small, NanoChat(4, 256, 1024, 8)), Baseline: plain, Card: nanoChatCard()},
		{Name: "quickstart-modern", Config: modern(small, 2, 704), Baseline: plain, Modern: true},
		{Name: "quickstart-rmt-modern", Config: modern(rmt, 0, 704), Baseline: plain, Modern: true},
		{Name: "quickstart-moe", Config: mixture(small, 512), Baseline: plain},
		{Name: "quickstart-looped", Config: looped(small, 1, 3, 3), Baseline: plain, Card: loopedCard()},
	}, compared("", []named{
		{"quickstart-relu", feedForward(small, layers.ReLUConfig{Hidden: 1024})},
		{"attention-only", attentionOnly(small, 2)},
	}))
}

// singlePass returns the rows' options of DeepSeek-V4.1.
func singlePass() stream.RowOptions { return stream.RowOptions{SinglePass: true, Head: "carried"} }

// named is a model and its name.
type named struct {
	name   string
	config Config
}

// compared returns presets of models that share a baseline, or have none ("").
func compared(baseline string, rows []named) (presets []Preset) {
	for _, r := range rows {
		presets = append(presets, Preset{Name: r.name, Config: r.config, Baseline: baseline})
	}
	return presets
}

// modern returns c with the blocks of Llama and Qwen3 (Touvron et al. 2023, arXiv 2302.13971;
// Yang et al. 2025, arXiv 2505.09388): RMSNorm, rotary positions, QK-norm, a SwiGLU of the
// given hidden width, kvHeads heads of keys and values (0: as many as heads), no biases.
func modern(c Config, kvHeads, hidden int) Config {
	c.Norm, c.Attention.Positions, c.Attention.InverseLayerScaling = NormRMS, PositionsRoPE, false
	c.Attention.KVHeads, c.Attention.QKNorm = kvHeads, true
	return feedForward(c, layers.SwiGLUConfig{Hidden: hidden})
}

// convolved returns c with a convolution of everything that stream.ConvWrites can convolve.
func convolved(c Config) Config {
	c.Writes = stream.ConvWrites{Taps: 4, At: []string{string(stream.Attention), string(stream.FeedForward), "keys", "values"}}
	return c
}

// trainedAs returns c with the vocabulary, rows and init of another model, to be compared with it.
func trainedAs(other, c Config) Config {
	c.Vocab, c.Seq, c.Init = other.Vocab, other.Seq, other.Init
	return c
}

// mixture returns c with 8 experts of the given hidden width, two for each token.
func mixture(c Config, hidden int) Config {
	return feedForward(c, layers.MoEConfig{Hidden: hidden, Experts: 8, TopK: 2})
}

// dynamicKeys returns c, an RMT, with keys that depend on the stream.
func dynamicKeys(c Config) Config {
	c.Stream = stream.DynamicMatrixConfig(c.Stream.(stream.MatrixConfig))
	return c
}

// feedForward returns c with another feed-forward.
func feedForward(c Config, d layers.FeedForwardDesign) Config {
	c.FeedForward = d
	return c
}

// looped returns c, changed so that tokens pass blocks begin to end-1 several times.
func looped(c Config, begin, end, times int) Config {
	c.LoopBegin, c.LoopEnd, c.Loops = begin, end, times
	return c
}

// loopedCard returns the card of a transformer with a loop.
func loopedCard() *layers.Card {
	return &layers.Card{
		Title: "Looped blocks",
		Equation: "h <- B_(b-1) ... B_0 h, once;   h <- B_(e-1) ... B_b h, k times;   h <- B_(L-1) ... B_e h, once\n" +
			"B_l: block l, with the same weights each time          loop_begin b, loop_end e, loops k",
		Source: "Dehghani et al. 2018, arXiv 1807.03819 (universal transformers); as in Ouro, arXiv 2510.25741, without its norms and gates between passes",
		Use: "Depth without weights: tokens pass a run of blocks k times, on any stream. It has the parameters of the blocks, and the FLOPs, activations " +
			"and key-value cache of the depth: this preset, blocks 1 and 2 of 4 three times, takes twice its transformer's. With k = 1 it is the transformer.",
	}
}

// attentionOnly returns c with the given number of blocks, which have only attention, all with
// the same attention scale: the kind of model that Elhage et al. 2021 analyse with two blocks.
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

// RMT returns the config of a Residual Matrix Transformer: a matrix stream [dk, dv] with rank
// heads, learned positions, GPT-2's vocabulary and rows of 512 tokens.
func RMT(blocks, dk, dv, rank, ff int) Config {
	return Config{Stream: stream.MatrixConfig{Dk: dk, Dv: dv, Rank: rank}, Layers: blocks,
		FeedForward: layers.GELUConfig{Hidden: ff}, Vocab: gpt2Vocab, Seq: 512}
}

// Transformer returns the config of a model like GPT-2: a vector stream, learned positions,
// GPT-2's vocabulary and rows of 512 tokens.
func Transformer(blocks, d, ff, heads int) Config {
	return Config{Stream: stream.VectorConfig{Vectors: stream.Vectors{D: d}}, Layers: blocks, Attention: Attention{Heads: heads},
		FeedForward: layers.GELUConfig{Hidden: ff}, Vocab: gpt2Vocab, Seq: 512}
}

// FirstNanoChat returns the config of nanochat's first models (Karpathy, October 2025): rotary
// positions, an embedding divided by its root mean square, squared ReLUs, QK-norm and a soft cap.
func FirstNanoChat(blocks, d, ff, heads int) Config {
	return Config{Stream: stream.VectorConfig{Vectors: stream.Vectors{D: d}, EmbeddingNorm: true}, Layers: blocks, FeedForward: layers.ReLU2Config{Hidden: ff},
		Attention: Attention{Heads: heads, Positions: PositionsRoPE, RopeBase: 10000, QKNorm: true}, Norm: NormRMS, NormEps: 1.2e-7, LogitSoftcap: 15,
		Vocab: 1 << 16, Seq: 2048}
}

// The numbers of entries that the gates of nanochat's value embeddings and of its smear read.
const NanoChatValueChannels, NanoChatSmearChannels = 12, 24

// NanoChat returns the config of nanochat's models since July 2026 (commit 92d63d4), which have
// value embeddings, smear, backout and x0. Their attention slides in some blocks
// (SlidingAttention).
func NanoChat(blocks, d, ff, heads int) Config {
	c := FirstNanoChat(blocks, d, ff, heads)
	v := stream.VectorConfig{Vectors: stream.Vectors{D: d}, EmbeddingNorm: true, Smear: NanoChatSmearChannels, Backout: true, X0: "nanochat"}
	c.Stream, c.Attention.RopeBase, c.Attention.ValueEmbeddings = v, 100000, NanoChatValueChannels
	return c
}

// nanoChatCard returns the card of nanochat's blocks.
func nanoChatCard() *layers.Card {
	return &layers.Card{
		Title: "nanochat",
		Equation: "h_0 = e_t + lambda_s sigmoid(e_t[:24] w_s) e_(t-1),   e = Norm(embedding)\n" +
			"h <- lambda_l h + mu_l h_0 before block l;   h <- h - lambda_b h_(L/2) before the last norm\n" +
			"v <- v + 3 sigmoid(u[:12] W_g) V_l[token], every other block;   F: relu(W_1 u)^2 W_2;   logits: 15 tanh(z / 15)",
		Source: "Karpathy's nanochat since July 2026 (commit 92d63d4), after modded-nanogpt's records",
		Use: "A vector stream with what nanochat's author kept: the token before's embedding (smear), the first state in every block (x0), the state " +
			"after half of the blocks subtracted at the end (backout), and values looked up by token. Smear, x0 and backout have few parameters and FLOPs, " +
			"but each passes over the stream; the tables of values have V times the width of keys in every other block. nanochat trains it by Muon, " +
			"at rates of its own.",
	}
}

// quickstart returns c as a byte-level model that learns Go source in minutes.
func quickstart(c Config) Config {
	c.Vocab, c.Seq, c.Init = 257, 128, InitLeCun
	c.Attention.Positions, c.Attention.InverseLayerScaling = PositionsALiBi, true
	return c
}
