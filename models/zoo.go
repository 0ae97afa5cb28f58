package models

import "github.com/residua-go/residua/stream"

// The names of the streams, values of Config.Stream.
const (
	StreamMatrix  = "matrix"   // Residual Matrix Transformer
	StreamVector  = "vector"   // GPT-2 style transformer
	StreamHyper   = "hyper"    // hyper-connections, static or dynamic
	StreamMHC     = "mhc"      // manifold-constrained hyper-connections
	StreamMHCLite = "mhc-lite" // the same as mixtures of permutations
	StreamVWN     = "vwn"      // virtual width network
	StreamHighway = "highway"  // Highway Transformer, self-dependency units
	StreamHierAgg = "hieragg"  // hierarchical aggregation
	StreamDWLSTM  = "dwlstm"   // depth-wise LSTM
)

// Designs is the list of the residual streams, in reading order, each without settings. A new
// one adds its line here, its presets below, and its settings that no other stream has to
// Config.
func Designs() []stream.Design {
	return []stream.Design{
		stream.MatrixConfig{},
		stream.VectorConfig{},
		stream.HyperConfig{},
		stream.MHCConfig{},
		stream.MHCLiteConfig{},
		stream.VWNConfig{},
		stream.HighwayConfig{},
		stream.HieraggConfig{},
		stream.DWLSTMConfig{},
	}
}

// The RMT paper's printed counts leave things out; Cost counts everything.
const (
	noteRMT         = "the paper counts no norm gains"
	noteTransformer = "the paper counts neither positions nor norm gains"
	noteExact       = "the paper counts as we do"
)

// Presets returns the known models in reading order: those of the RMT paper's Table 9
// (Dk and Dv of the 206M and 305M rows as the printed sizes imply), with the GPT-2
// vocabulary, untied, learned positions, 512 tokens; the two quickstart models; and the
// other residual designs.
func Presets() []Preset {
	return append([]Preset{
		{"rmt-46m", rmt(6, 32, 32, 12, 1536), 45.9, noteRMT},
		{"rmt-134m", rmt(12, 32, 64, 12, 3072), 134.2, noteRMT},
		{"rmt-206m", rmt(18, 48, 64, 14, 3584), 206.2, noteRMT},
		{"rmt-305m", rmt(24, 64, 64, 16, 4096), 304.9, noteRMT},
		{"transformer-49m", transformer(6, 384, 1536, 12), 49.2, noteTransformer},
		{"transformer-162m", transformer(12, 768, 3072, 12), 162.5, noteExact},
		{"transformer-264m", transformer(18, 896, 3584, 14), 263.5, noteTransformer},
		{"transformer-405m", transformer(24, 1024, 4096, 16), 404.9, noteTransformer},
		{"quickstart", quickstart(rmt(4, 32, 32, 8, 1024)), 0, ""},
		{"quickstart-transformer", quickstart(transformer(4, 256, 1024, 8)), 0, ""},
	}, zooPresets()...)
}

// Notes on the printed sizes of the other residual designs (RMT paper, Table 10).
const (
	noteHighway = "printed in whole millions; reproduced: 4 D^2 a block beside the transformer's"
	noteHierAgg = "printed in whole millions; one aggregate shared by all pairs of blocks matches the size, not the source: see hieragg-dou"
	noteDWLSTM  = "printed in whole millions; the cell is reconstructed from its abstract and this size"
	noteLeCun   = "the paper counts no norm gains; Table 10's runs start with LeCun's init"
)

// zooPresets are the residual designs at the shape of transformer-162m, those of the RMT
// paper's Table 10 and newer ones; the sizes of its figure 6, where the residual stream
// grows by itself in the RMT and with the width in the transformer; and a small one of
// each design for byte-level text.
func zooPresets() []Preset {
	list := []Preset{
		{"rmt-134m-lecun", leCun(rmt(12, 32, 64, 12, 3072)), 134.2, noteLeCun},
		{"highway-191m", on162m(Config{Stream: StreamHighway}), 191, noteHighway},
		{"hieragg-165m", on162m(Config{Stream: StreamHierAgg}), 165, noteHierAgg},
		{"hieragg-dou", on162m(Config{Stream: StreamHierAgg, Inner: 4 * 768, SeparateAggregates: true}), 0, ""},
		{"dwlstm-233m", on162m(Config{Stream: StreamDWLSTM}), 233, noteDWLSTM},
		{"hyper-static-162m", on162m(Config{Stream: StreamHyper, N: 4}), 0, ""},
		{"hyper-dynamic-162m", on162m(Config{Stream: StreamHyper, N: 4, Dynamic: true}), 0, ""},
		{"mhc-162m", on162m(Config{Stream: StreamMHC, N: 4}), 0, ""},
		{"mhc-lite-162m", on162m(Config{Stream: StreamMHCLite, N: 4}), 0, ""},
		{"vwn-2x3", on162m(Config{Stream: StreamVWN, M: 2, N: 3}), 0, ""},
		{"vwn-8x64", on162m(Config{Stream: StreamVWN, M: 8, N: 64}), 0, ""},
		{"moe-8x2", on162m(Config{Stream: StreamVector, Experts: 8, TopK: 2, FF: 3072 / 2}), 0, ""},
		{"rmt-134m-dk16", rmt(12, 16, 64, 12, 3072), 0, ""},
		{"rmt-134m-dk64", rmt(12, 64, 64, 12, 3072), 0, ""},
		{"rmt-134m-dk128", rmt(12, 128, 64, 12, 3072), 0, ""},
		{"transformer-d512", transformer(12, 512, 4*512, 8), 0, ""},
		{"transformer-d1024", transformer(12, 1024, 4*1024, 16), 0, ""},
		{"transformer-d1536", transformer(12, 1536, 4*1536, 24), 0, ""},
	}
	for _, small := range []struct {
		name string
		own  Config
	}{
		{"highway", Config{Stream: StreamHighway}},
		{"hieragg", Config{Stream: StreamHierAgg}},
		{"dwlstm", Config{Stream: StreamDWLSTM}},
		{"hyper-static", Config{Stream: StreamHyper, N: 4}},
		{"hyper-dynamic", Config{Stream: StreamHyper, N: 4, Dynamic: true}},
		{"mhc", Config{Stream: StreamMHC, N: 4}},
		{"mhc-lite", Config{Stream: StreamMHCLite, N: 4}},
		{"vwn", Config{Stream: StreamVWN, M: 2, N: 3}},
		{"moe", Config{Stream: StreamVector, Experts: 8, TopK: 2, FF: 512}},
	} {
		list = append(list, Preset{Name: "quickstart-" + small.name, Config: quickstart(transformer(4, 256, 1024, 8).with(small.own))})
	}
	return list
}

// on162m is transformer-162m with another stream, or a mixture of experts.
func on162m(own Config) Config { return transformer(12, 768, 3072, 12).with(own) }

// with is the model on another stream: own has its name and the settings that c's stream does
// not have, and may have experts.
func (c Config) with(own Config) Config {
	c = c.onStream(own)
	c.Experts, c.TopK = own.Experts, own.TopK
	setDefault(&own.FF, c.FF)
	c.FF = own.FF
	if !c.hasFeedForward() {
		c.FF = 0
	}
	return c
}

func leCun(c Config) Config {
	c.Init = InitLeCun
	return c
}

// gpt2Vocab is the size of GPT-2's vocabulary.
const gpt2Vocab = 50257

func rmt(layers, dk, dv, rank, ff int) Config {
	return Config{Stream: StreamMatrix, Layers: layers, Dk: dk, Dv: dv, Rank: rank, FF: ff, Vocab: gpt2Vocab, Seq: 512}
}

func transformer(layers, d, ff, heads int) Config {
	return Config{Stream: StreamVector, Layers: layers, DModel: d, Heads: heads, FF: ff, Vocab: gpt2Vocab, Seq: 512}
}

// quickstart is a byte-level model that learns Go source in minutes.
func quickstart(c Config) Config {
	c.Vocab, c.Seq, c.Positions, c.InverseLayerScaling, c.Init = 257, 128, PositionsALiBi, true, InitLeCun
	return c
}
