package models

import (
	"reflect"
	"sort"
)

// Preset is a named model with the parameter count that its source prints.
type Preset struct {
	Name   string
	Config Config
	// Paper is the number of parameters in millions that the RMT paper prints, 0 where
	// it prints none. PaperNote says where and why the exact count differs.
	Paper     float64
	PaperNote string
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

// FindPreset returns the preset of that name, and all names if there is none.
func FindPreset(name string) (Preset, []string, bool) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil, true
		}
		names = append(names, p.Name)
	}
	sort.Strings(names)
	return Preset{}, names, false
}

// overPreset returns the preset that c names, overridden by c's fields that are not
// zero; c itself where it names a stream (its fields are then filled in already), no
// preset, or one that does not exist.
func (c Config) overPreset() Config {
	if c.Preset == "" || c.Stream != "" {
		return c
	}
	preset, _, ok := FindPreset(c.Preset)
	if !ok {
		return c
	}
	merged, own := reflect.ValueOf(&preset.Config).Elem(), reflect.ValueOf(c)
	for i := range own.NumField() {
		if !own.Field(i).IsZero() {
			merged.Field(i).Set(own.Field(i))
		}
	}
	return preset.Config
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
