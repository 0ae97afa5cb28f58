package settings

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const topKeys = "name, seed, model, data, train, tags, stages, out"

// decodeErrors lists texts, each with the whole line of its error.
var decodeErrors = []struct{ name, text, want string }{
	// unknown keys
	{"swapped letters", "train:\n  setps: 5", `c/x.yaml:2: train.setps: unknown key; did you mean "steps"?`},
	{"capitals", "train:\n  LR: 5", `c/x.yaml:2: train.LR: unknown key; did you mean "lr"?`},
	{"other section", "train:\n  seq: 5", `c/x.yaml:2: train.seq: unknown key; did you mean data.seq?`},
	{"here or elsewhere", "model: {layer: 1, wdiths: 2}", `c/x.yaml:1: model.layer: unknown key; did you mean "layers"?`},
	{"near here, same elsewhere", "model: {ranc: 1}", `c/x.yaml:1: model.ranc: unknown key; did you mean "rank"?`},
	{"leaf at the top", "steps: 5", `c/x.yaml:1: steps: unknown key; did you mean train.steps?`},
	{"top leaf in a section", "data:\n  seq: 1\n  out: x", `c/x.yaml:3: data.out: unknown key; did you mean out at the top level?`},
	{"near in another section", "warmpu: 5", `c/x.yaml:1: warmpu: unknown key; did you mean train.warmup?`},
	{"word of a longer name", "train:\n  batch_size: 5", `c/x.yaml:2: train.batch_size: unknown key; did you mean "batch"?`},
	{"dotted", "train.steps: 5", `c/x.yaml:1: "train.steps": unknown key; did you mean "steps" indented below "train"?`},
	{"nothing near", "frobnicate: 5", `c/x.yaml:1: frobnicate: unknown key; known here: ` + topKeys},
	{"in a list", "stages:\n- {steps: 1}\n- {stepz: 1}", `c/x.yaml:3: stages[1].stepz: unknown key; did you mean "steps"?`},
	{"in a pointer", "model:\n  moe:\n    expert: 1", `c/x.yaml:3: model.moe.expert: unknown key; did you mean "experts"?`},
	{"untagged field", "Untagged: 1", `c/x.yaml:1: Untagged: unknown key; known here: ` + topKeys},
	{"line break in a key", `"a\nb": 1`, `c/x.yaml:1: "a\nb": unknown key; known here: ` + topKeys},
	{"empty key", `"": 1`, `c/x.yaml:1: "": unknown key; known here: ` + topKeys},
	{"number as a key", "12: 1", `c/x.yaml:1: want a name before the colon, got 12; write "12" with the quotes`},
	{"null as a key", "train: {~: 1}", `c/x.yaml:1: train: want a name before the colon, got ~; write "~" with the quotes`},

	// keys given twice
	{"twice", "name: a\n\ntrain:\n  steps: 1\n  lr: 1\n  steps: 2", "c/x.yaml:6: train.steps: given twice, first on line 4"},
	{"twice, quoted", "name: a\n\"name\": b", "c/x.yaml:2: name: given twice, first on line 1"},
	{"section twice", "train: {steps: 1}\ntrain: {lr: 1}", "c/x.yaml:2: train: given twice, first on line 1"},
	{"map entry twice", "tags: {a: b, a: c}", "c/x.yaml:1: tags.a: given twice, first on line 1"},

	// integers
	{"word", "train:\n  steps: many", `c/x.yaml:2: train.steps: want an integer, got "many"`},
	{"fraction", "train: {steps: 1.5}", "c/x.yaml:1: train.steps: want an integer, got 1.5"},
	{"exponent", "train: {steps: 1e3}", "c/x.yaml:1: train.steps: want an integer, got 1e3; write 1000"},
	{"whole float", "train: {steps: 2000.0}", "c/x.yaml:1: train.steps: want an integer, got 2000.0; write 2000"},
	{"negative whole float", "train: {steps: -2_0.}", "c/x.yaml:1: train.steps: want an integer, got -2_0.; write -20"},
	{"huge float", "train: {steps: 1e300}", "c/x.yaml:1: train.steps: want an integer, got 1e300"},
	{"infinite float", "train: {steps: 1e999}", "c/x.yaml:1: train.steps: want an integer, got 1e999"},
	{"inf", "train: {steps: .inf}", "c/x.yaml:1: train.steps: want an integer, got .inf"},
	{"quoted integer", `train: {steps: "200"}`, `c/x.yaml:1: train.steps: want an integer, got "200"; remove the quotes`},
	{"leading zero", "train: {steps: 010}", "c/x.yaml:1: train.steps: want an integer, got 010; write it without the leading 0, or with 0o for an octal number"},
	{"zeros", "train: {steps: 00}", "c/x.yaml:1: train.steps: want an integer, got 00; write 0"},
	{"loose underscore", "train: {steps: 1_}", `c/x.yaml:1: train.steps: want an integer, got "1_"`},
	{"unit", "train: {steps: 10k}", `c/x.yaml:1: train.steps: want an integer, got "10k"`},
	{"bool", "train: {steps: true}", "c/x.yaml:1: train.steps: want an integer, got true"},
	{"nothing", "train:\n  steps:\n  lr: 1", "c/x.yaml:2: train.steps: want an integer, got nothing"},
	{"null", "train: {steps: null}", "c/x.yaml:1: train.steps: want an integer, got null"},
	{"list", "train: {steps: [1]}", "c/x.yaml:1: train.steps: want an integer, got a list"},
	{"map", "train:\n  steps:\n    a: 1", "c/x.yaml:3: train.steps: want an integer, got a map"},
	{"above int8", "train: {warmup: 128}", "c/x.yaml:1: train.warmup: want an integer from -128 to 127, got 128"},
	{"below int8", "train: {warmup: -129}", "c/x.yaml:1: train.warmup: want an integer from -128 to 127, got -129"},
	{"above int64", "train: {steps: 9223372036854775808}", "c/x.yaml:1: train.steps: want an integer from -9223372036854775808 to 9223372036854775807, got 9223372036854775808"},
	{"above uint8", "train: {keep: 0x100}", "c/x.yaml:1: train.keep: want an integer from 0 to 255, got 0x100"},
	{"above uint64", "seed: 18446744073709551616", "c/x.yaml:1: seed: want an integer from 0 to 18446744073709551615, got 18446744073709551616"},
	{"negative unsigned", "seed: -1", "c/x.yaml:1: seed: want an integer >= 0, got -1"},
	{"fraction unsigned", "seed: 1.5", "c/x.yaml:1: seed: want an integer >= 0, got 1.5"},
	{"through a pointer", "model: {rank: 1.5}", "c/x.yaml:1: model.rank: want an integer, got 1.5"},
	{"pointer, nothing", "model:\n  rank:\n", "c/x.yaml:2: model.rank: want an integer, got nothing"},
	{"in a list", "model:\n  widths:\n  - 1\n  - b", `c/x.yaml:4: model.widths[1]: want an integer, got "b"`},
	{"value on the next line", "train:\n  steps:\n    many", `c/x.yaml:3: train.steps: want an integer, got "many"`},

	// numbers
	{"word for a number", "train: {lr: fast}", `c/x.yaml:1: train.lr: want a number, got "fast"`},
	{"quoted number", "train: {lr: '1e-3'}", `c/x.yaml:1: train.lr: want a number, got "1e-3"; remove the quotes`},
	{"nan", "train: {lr: .nan}", "c/x.yaml:1: train.lr: want a finite number, got .nan"},
	{"infinity", "train: {lr: -.inf}", "c/x.yaml:1: train.lr: want a finite number, got -.inf"},
	{"bare nan", "train: {lr: nan}", `c/x.yaml:1: train.lr: want a number, got "nan"`},
	{"overflow", "train: {lr: 1e400}", "c/x.yaml:1: train.lr: want a number that float64 can hold, got 1e400"},
	{"underflow", "train: {lr: 1e-400}", "c/x.yaml:1: train.lr: want a number that float64 can hold, got 1e-400"},
	{"overflow float32", "train: {clip: 1e39}", "c/x.yaml:1: train.clip: want a number that float32 can hold, got 1e39"},
	{"hex", "train: {lr: 0x10}", "c/x.yaml:1: train.lr: want a number, got 0x10"},
	{"octal number", "train: {lr: 010}", "c/x.yaml:1: train.lr: want a number, got 010; write it without the leading 0"},
	{"comma", "train:\n  lr: 0,1", `c/x.yaml:2: train.lr: want a number, got "0,1"`},
	{"number, nothing", "train:\n  lr:", "c/x.yaml:2: train.lr: want a number, got nothing"},
	{"dot", "train:\n  lr: .", `c/x.yaml:2: train.lr: want a number, got "."`},

	// booleans and strings
	{"yes", "data: {mask_documents: yes}", `c/x.yaml:1: data.mask_documents: want true or false, got "yes"; write true`},
	{"capital", "data: {mask_documents: False}", `c/x.yaml:1: data.mask_documents: want true or false, got False; write false`},
	{"quoted bool", `data: {mask_documents: "true"}`, `c/x.yaml:1: data.mask_documents: want true or false, got "true"; write true`},
	{"one", "data: {mask_documents: 1}", `c/x.yaml:1: data.mask_documents: want true or false, got 1`},
	{"number as a string", "name: 123", `c/x.yaml:1: name: want a string, got 123; write "123" with the quotes`},
	{"float as a string", "name: 1e3", `c/x.yaml:1: name: want a string, got 1e3; write "1e3" with the quotes`},
	{"bool as a string", "name: True", `c/x.yaml:1: name: want a string, got True; write "True" with the quotes`},
	{"null as a string", "name: ~", `c/x.yaml:1: name: want a string, got ~; write "" for an empty one`},
	{"nothing as a string", "name:\n", `c/x.yaml:1: name: want a string, got nothing; write "" for an empty one`},
	{"list as a string", "name: [a]", `c/x.yaml:1: name: want a string, got a list`},
	{"long string", "seed: " + strings.Repeat("é", 100), `c/x.yaml:1: seed: want an integer >= 0, got "` + strings.Repeat("é", 60) + `…"`},

	// shapes
	{"section as a number", "train: 5", "c/x.yaml:1: train: want a map with the keys steps, batch, lr, clip, warmup, keep, got 5"},
	{"section as a list", "train:\n- steps: 1", "c/x.yaml:2: train: want a map with the keys steps, batch, lr, clip, warmup, keep, got a list"},
	{"section as null", "train: null", "c/x.yaml:1: train: want a map with the keys steps, batch, lr, clip, warmup, keep, got null"},
	{"optional section, nothing", "model:\n  moe:\n", "c/x.yaml:2: model.moe: want a map with the keys experts, jitter, got nothing"},
	{"no space after the colon", "train:\n  steps:5", `c/x.yaml:2: train: want a map with the keys steps, batch, lr, clip, warmup, keep, got "steps:5"; put a space after the colon`},
	{"string as a list", "data: {paths: a}", `c/x.yaml:1: data.paths: want a list of strings, got "a"; write [a]`},
	{"strings with a comma", "data:\n  paths: a,b", `c/x.yaml:2: data.paths: want a list of strings, got "a,b"; write [a,b]`},
	{"quoted string as a list", "data: {paths: 'a'}", `c/x.yaml:1: data.paths: want a list of strings, got "a"; write ["a"]`},
	{"nothing as a list", "data: {paths: }", `c/x.yaml:1: data.paths: want a list of strings, got nothing`},
	{"map as a list", "model: {widths: {a: 1}}", `c/x.yaml:1: model.widths: want a list of integers, got a map`},
	{"number as a list", "data: {mix: 0.5}", `c/x.yaml:1: data.mix: want a list of numbers, got 0.5; write [0.5]`},
	{"scalar in a list of maps", "stages: [1]", `c/x.yaml:1: stages[0]: want a map with the keys steps, note, got 1`},
	{"list as a map", "tags: [a]", `c/x.yaml:1: tags: want a map of strings, got a list`},
	{"number in a map", "tags:\n  a: 1", `c/x.yaml:2: tags.a: want a string, got 1; write "1" with the quotes`},
	{"text", "hello", `c/x.yaml:1: want a map with the keys ` + topKeys + `, got "hello"`},
	{"colon without a space", "name:a", `c/x.yaml:1: want a map with the keys ` + topKeys + `, got "name:a"; put a space after the colon`},
	{"top list", "# c\n- a", `c/x.yaml:2: want a map with the keys ` + topKeys + `, got a list`},

	// documents and the parts of YAML that are refused
	{"empty", "", "c/x.yaml: empty; want a map with the keys " + topKeys},
	{"comments only", "# name: a\n\n", "c/x.yaml: empty; want a map with the keys " + topKeys},
	{"empty document", "---\n", "c/x.yaml: empty; want a map with the keys " + topKeys},
	{"two documents", "name: a\n---\nname: b", "c/x.yaml:2: a second document starts here; want one"},
	{"two documents, the second empty", "---\nname: a\n---\n", "c/x.yaml:3: a second document starts here; want one"},
	{"two documents without a header", "name: a\n...\n\nname: b", "c/x.yaml:4: a second document starts here; want one"},
	{"anchor", "name: a\ntrain: &t {steps: 1}", "c/x.yaml:2: anchors (&name) are not supported; write the value out in each place"},
	{"alias", "name: a\nout: *t", "c/x.yaml:2: aliases (*name) are not supported; write the value out, or put it in quotes if the * is part of it"},
	{"glob", "data:\n  paths:\n  - *.go", "c/x.yaml:3: aliases (*name) are not supported; write the value out, or put it in quotes if the * is part of it"},
	{"merge", "train:\n  <<: {steps: 1}", "c/x.yaml:2: merge keys (<<) are not supported; write the keys out"},
	{"tag", "seed: !!int '3'", "c/x.yaml:1: tags (!name) are not supported; write the value alone, or put it in quotes if the ! is part of it"},
	{"lone tag", "name: a\nseed: ! 5", "c/x.yaml:2: tags (!name) are not supported; write the value alone, or put it in quotes if the ! is part of it"},
	{"question mark", "? name\n: a", "c/x.yaml:1: ? keys are not supported; write key: value"},
	{"directive", "%YAML 1.2\n---\nname: a", "c/x.yaml:1: directives (%NAME) are not supported; remove the line"},

	// syntax
	{"tab", "train:\n\tsteps: 1", "c/x.yaml:2: not YAML: found character tab that cannot start any token; indent with spaces"},
	{"open list", "name: a\ndata: {paths: [a, b", "c/x.yaml:2: not YAML: sequence end token ']' not found"},
	{"open quote", "seed: 1\nname: \"a", "c/x.yaml:2: not YAML: could not find end character of double-quoted text"},
	{"deeper line", "train:\n  steps: 1\n    lr: 2", "c/x.yaml:2: not YAML: mapping value is not allowed in this context; check the indentation here and on the next line, and the space after each colon"},
	{"line between", "train:\n  steps: 1\n lr: 2", "c/x.yaml:3: not YAML: value is not allowed in this context; check the indentation here and on the next line, and the space after each colon"},
	{"nul", "name: a\nout: \x00", "c/x.yaml:2: the control character U+0000 cannot stand in YAML; remove it"},
	{"lone carriage return", "name: a\rout: b", "c/x.yaml:1: the control character U+000D cannot stand in YAML; remove it"},
	{"latin-1", "seed: 1\nname: caf\xe9", "c/x.yaml:2: the byte 0xe9 is not UTF-8 text"},
	{"too deep", "name: " + strings.Repeat("[", 100), "c/x.yaml:1: lists and maps are nested more than 64 levels deep"},
	{"too deep in dashes", strings.Repeat("- ", 100) + "a", "c/x.yaml:1: lists and maps are nested more than 64 levels deep"},
	{"too long", "name: " + strings.Repeat("a", 1<<16), "c/x.yaml: want at most 65536 bytes of YAML, got 65542"},

	// the first problem in the text is the one reported
	{"order of lines", "train:\n  steps: 1.5\nnmae: a", "c/x.yaml:2: train.steps: want an integer, got 1.5"},
	{"order of lines, reversed", "nmae: a\ntrain:\n  steps: 1.5", `c/x.yaml:1: nmae: unknown key; did you mean "name"?`},
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range decodeErrors {
		t.Run(c.name, func(t *testing.T) {
			got := defaults()
			positions, err := decode(Reader{}, "c/x.yaml", []byte(c.text), &got)
			require.EqualError(t, err, c.want)
			assert.Nil(t, positions)
			assert.Equal(t, defaults(), got)
			var typed *Error
			assert.True(t, errors.As(err, &typed))
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestUnknownKeyNamesNearAndElsewhere(t *testing.T) {
	var v struct {
		Train struct {
			Steps int `yaml:"steps"`
		} `yaml:"train"`
		Warm struct {
			Step int `yaml:"step"`
		} `yaml:"warm"`
		None struct{} `yaml:"none"`
	}
	_, err := decode(Reader{}, "x.yaml", []byte("train: {step: 1}"), &v)
	assert.EqualError(t, err, `x.yaml:1: train.step: unknown key; did you mean "steps" or warm.step?`)
	_, err = decode(Reader{}, "x.yaml", []byte("none: {other: 1}"), &v)
	assert.EqualError(t, err, `x.yaml:1: none.other: unknown key; this section holds none`)
}

func TestStringsThatNeedNoQuotes(t *testing.T) {
	for text, want := range map[string]string{
		"yes": "yes", "off": "off", "2024-01-01": "2024-01-01", "1.2.3": "1.2.3", "runs/x y": "runs/x y", "'010'": "010",
		"nan": "nan", "a#b": "a#b", "a # b": "a", "''": "", `"\u00e9\x41\n"`: "éA\n", "1_": "1_", "<<": "<<", "C:\\x": "C:\\x",
	} {
		got := defaults()
		_, err := decode(Reader{}, "x.yaml", []byte("name: "+text+"\n"), &got)
		require.NoError(t, err, text)
		assert.Equal(t, want, got.Name, text)
	}
}
