package settings

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMarshalText(t *testing.T) {
	v := defaults()
	v.Model.Moe = &sampleMoe{Experts: 2, Jitter: 1e-8}
	v.Tags = map[string]string{"b c": "no", "a": "x/y-1"}
	v.Stages = []sampleStage{{Steps: 1, Note: "a: b"}, {}}
	text, err := Marshal(v)
	require.NoError(t, err)
	assert.Equal(t, `name: default
seed: 0
model:
  layers: 0
  d_model: 0
  rank: 4
  moe:
    experts: 2
    jitter: 1e-08
  widths: [1, 2]
data:
  source: goroot
  paths: [old]
  mix: null
  seq: 0
  mask_documents: false
train:
  steps: 100
  batch: 0
  lr: 0.5
  clip: 0
  warmup: 0
  keep: 0
tags: {a: x/y-1, "b c": "no"}
stages: [{steps: 1, note: "a: b"}, {steps: 0, note: ""}]
out: ""
`, string(text))
}

// reread writes v as YAML and reads it over other values.
func reread(t *testing.T, v *sample) sample {
	t.Helper()
	text, err := Marshal(v)
	require.NoError(t, err)
	got := defaults()
	_, err = decode(Reader{}, "resolved.yaml", text, &got)
	require.NoError(t, err, string(text))
	return got
}

func TestMarshalRoundTrip(t *testing.T) {
	full := defaults()
	_, err := decode(Reader{}, "x.yaml", []byte(everything), &full)
	require.NoError(t, err)
	empty := sample{Data: sampleData{Paths: []string{}}, Tags: map[string]string{}, Stages: []sampleStage{}}
	extreme := sample{
		Seed:  math.MaxUint64,
		Train: sampleTrain{Steps: math.MinInt, LR: math.SmallestNonzeroFloat64, Clip: math.MaxFloat32, Warmup: -128, Keep: 255},
		Data:  sampleData{Mix: []float64{math.MaxFloat64, -1e-300, 1.0 / 3, math.Copysign(0, -1), 1e21, 100000}, Seq: math.MaxInt},
	}
	for _, v := range []sample{{}, defaults(), full, empty, extreme} {
		assert.Equal(t, v, reread(t, &v))
	}
}

func TestMarshalStringsRoundTrip(t *testing.T) {
	words := []string{
		"", " ", "a", "123", "1e3", "010", "true", "Null", "~", "yes", "n", ".inf", "nan", "-", "- a", "---", "...", "?", "a: b", "a:b", "a #b", "#",
		"'", `"`, `\`, `\n`, "a\nb", "a\r\nb", "\t", "\x00", "\x07\x08\x0b\x0c\x1b", "\x7f", "\u0085", "\u00a0", "\u2028\u2029", "\ufeff", "\ufffd",
		"é", "日本", "😀", "[a]", "{a}", "a, b", "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "<<", "=", "null", "0x1f", "1_000", "2024-01-01", "C:\\x",
	}
	v := sample{Data: sampleData{Paths: words}, Tags: map[string]string{}}
	for _, word := range words {
		v.Tags[word] = word
		v.Name = word
		v.Stages = []sampleStage{{Note: word}}
		assert.Equal(t, v, reread(t, &v), word)
	}
}

func TestMarshalErrors(t *testing.T) {
	for want, v := range map[string]sample{
		"train.lr: want a finite number, got NaN":              {Train: sampleTrain{LR: math.NaN()}},
		"data.mix[1]: want a finite number, got +Inf":          {Data: sampleData{Mix: []float64{1, math.Inf(1)}}},
		`name: the string is not UTF-8 text: "\xff"`:           {Name: "\xff"},
		`stages[0].note: the string is not UTF-8 text: "\xff"`: {Stages: []sampleStage{{Note: "\xff"}}},
		`tags."\xff": the name is not UTF-8 text`:              {Tags: map[string]string{"\xff": ""}},
	} {
		_, err := Marshal(v)
		assert.EqualError(t, err, want)
	}
}

func TestMarshalEmptyStruct(t *testing.T) {
	text, err := Marshal(struct {
		A int
	}{})
	require.NoError(t, err)
	assert.Equal(t, "{}\n", string(text))
	var v struct {
		None struct{}  `yaml:"none"`
		Gone *struct{} `yaml:"gone"`
		Here *struct{} `yaml:"y"`
	}
	v.Here = &struct{}{}
	text, err = Marshal(&v)
	require.NoError(t, err)
	assert.Equal(t, "none: {}\ngone: null\n\"y\": {}\n", string(text))
	got := v
	_, err = decode(Reader{}, "x.yaml", text, &got)
	require.NoError(t, err)
	assert.Equal(t, v, got)
}
