package models

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
		{"highway-191m", on162m(StreamHighway, Config{}), 191, noteHighway},
		{"hieragg-165m", on162m(StreamHierAgg, Config{}), 165, noteHierAgg},
		{"hieragg-dou", on162m(StreamHierAgg, Config{Inner: 4 * 768, SeparateAggregates: true}), 0, ""},
		{"dwlstm-233m", on162m(StreamDWLSTM, Config{}), 233, noteDWLSTM},
		{"hyper-static-162m", on162m(StreamHyper, Config{N: 4}), 0, ""},
		{"hyper-dynamic-162m", on162m(StreamHyper, Config{N: 4, Dynamic: true}), 0, ""},
		{"mhc-162m", on162m(StreamMHC, Config{N: 4}), 0, ""},
		{"mhc-lite-162m", on162m(StreamMHCLite, Config{N: 4}), 0, ""},
		{"vwn-2x3", on162m(StreamVWN, Config{M: 2, N: 3}), 0, ""},
		{"vwn-8x64", on162m(StreamVWN, Config{M: 8, N: 64}), 0, ""},
		{"moe-8x2", on162m(StreamVector, Config{Experts: 8, TopK: 2, FF: 3072 / 2}), 0, ""},
		{"rmt-134m-dk16", rmt(12, 16, 64, 12, 3072), 0, ""},
		{"rmt-134m-dk64", rmt(12, 64, 64, 12, 3072), 0, ""},
		{"rmt-134m-dk128", rmt(12, 128, 64, 12, 3072), 0, ""},
		{"transformer-d512", transformer(12, 512, 4*512, 8), 0, ""},
		{"transformer-d1024", transformer(12, 1024, 4*1024, 16), 0, ""},
		{"transformer-d1536", transformer(12, 1536, 4*1536, 24), 0, ""},
	}
	for _, small := range []struct {
		name, stream string
		own          Config
	}{
		{"highway", StreamHighway, Config{}},
		{"hieragg", StreamHierAgg, Config{}},
		{"dwlstm", StreamDWLSTM, Config{}},
		{"hyper-static", StreamHyper, Config{N: 4}},
		{"hyper-dynamic", StreamHyper, Config{N: 4, Dynamic: true}},
		{"mhc", StreamMHC, Config{N: 4}},
		{"mhc-lite", StreamMHCLite, Config{N: 4}},
		{"vwn", StreamVWN, Config{M: 2, N: 3}},
		{"moe", StreamVector, Config{Experts: 8, TopK: 2, FF: 512}},
	} {
		list = append(list, Preset{Name: "quickstart-" + small.name, Config: quickstart(zoo(transformer(4, 256, 1024, 8), small.stream, small.own))})
	}
	return list
}

// on162m is transformer-162m on another stream.
func on162m(stream string, own Config) Config {
	return zoo(transformer(12, 768, 3072, 12), stream, own)
}

// zoo puts a transformer on another stream, with that stream's own fields.
func zoo(c Config, stream string, own Config) Config {
	c.Stream, c.N, c.M, c.Dynamic, c.Inner, c.Experts, c.TopK = stream, own.N, own.M, own.Dynamic, own.Inner, own.Experts, own.TopK
	c.SeparateAggregates = own.SeparateAggregates
	if own.FF > 0 {
		c.FF = own.FF
	}
	if stream == StreamDWLSTM {
		c.FF = 0
	}
	return c
}

func leCun(c Config) Config {
	c.Init = InitLeCun
	return c
}
