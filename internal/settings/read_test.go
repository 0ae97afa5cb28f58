package settings

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a config of every kind of field.
type sample struct {
	Name     string            `yaml:"name"`
	Seed     uint64            `yaml:"seed"`
	Model    sampleModel       `yaml:"model"`
	Data     sampleData        `yaml:"data"`
	Train    sampleTrain       `yaml:"train"`
	Tags     map[string]string `yaml:"tags"`
	Stages   []sampleStage     `yaml:"stages"`
	Out      string            `yaml:"out"`
	Untagged int
	Skipped  int `yaml:"-"`
}

type sampleModel struct {
	sampleShape
	Rank   *int       `yaml:"rank"`
	Moe    *sampleMoe `yaml:"moe"`
	Widths []int      `yaml:"widths"`
}

type sampleShape struct {
	Layers int `yaml:"layers"`
	DModel int `yaml:"d_model"`
}

type sampleMoe struct {
	Experts int     `yaml:"experts"`
	Jitter  float64 `yaml:"jitter"`
}

type sampleData struct {
	Source string    `yaml:"source"`
	Paths  []string  `yaml:"paths"`
	Mix    []float64 `yaml:"mix"`
	Seq    int       `yaml:"seq"`
	Mask   bool      `yaml:"mask_documents"`
}

type sampleTrain struct {
	Steps  int     `yaml:"steps"`
	Batch  int     `yaml:"batch"`
	LR     float64 `yaml:"lr"`
	Clip   float32 `yaml:"clip"`
	Warmup int8    `yaml:"warmup"`
	Keep   uint8   `yaml:"keep"`
}

type sampleStage struct {
	Steps int    `yaml:"steps"`
	Note  string `yaml:"note"`
}

// defaults are the values that a sample has before decoding.
func defaults() sample {
	rank := 4
	return sample{
		Name:  "default",
		Model: sampleModel{Rank: &rank, Widths: []int{1, 2}},
		Data:  sampleData{Source: "goroot", Paths: []string{"old"}},
		Train: sampleTrain{Steps: 100, LR: 0.5},
		Tags:  map[string]string{"old": "yes"},
	}
}

const everything = `# a run
name: tiny
seed: 18446744073709551615
model:
  layers: 2
  d_model: 1_024
  rank: 8
  moe:
    experts: 4
    jitter: 1e-2
  widths: [1, -2, 0x10, 0o17, 0b11]
data:
  source: 'files'
  paths:
    - "a b"
    - c/*.go   # a comment
  mix: [.1, 1, 1e-8, 2., -1_0.5e+1]
  seq: 128
  mask_documents: true
train: {steps: 2000, lr: 3, clip: 0.1, warmup: -128, keep: 255}
tags: {a: "1", "b c": d}
stages:
  - steps: 1
    note: |
      two
      lines
  - {steps: 2}
out: runs/tiny
`

func TestDecodeReadsEveryKind(t *testing.T) {
	got := defaults()
	positions, err := decode(Reader{}, "configs/x.yaml", []byte(everything), &got)
	require.NoError(t, err)
	rank := 8
	want := sample{
		Name: "tiny",
		Seed: 18446744073709551615,
		Model: sampleModel{
			sampleShape: sampleShape{Layers: 2, DModel: 1024},
			Rank:        &rank,
			Moe:         &sampleMoe{Experts: 4, Jitter: 0.01},
			Widths:      []int{1, -2, 16, 15, 3},
		},
		Data: sampleData{
			Source: "files", Paths: []string{"a b", "c/*.go"},
			Mix: []float64{0.1, 1, 1e-8, 2, -105}, Seq: 128, Mask: true,
		},
		Train:  sampleTrain{Steps: 2000, LR: 3, Clip: 0.1, Warmup: -128, Keep: 255},
		Tags:   map[string]string{"a": "1", "b c": "d"},
		Stages: []sampleStage{{Steps: 1, Note: "two\nlines\n"}, {Steps: 2}},
		Out:    "runs/tiny",
	}
	assert.Equal(t, want, got)

	for key, line := range map[string]string{
		"name": "2", "seed": "3", "model": "4", "model.d_model": "6", "model.moe.jitter": "10", "data.paths": "14",
		"data.paths[1]": "16", "data.mix": "17", "train": "20", "train.keep": "20", `tags."b c"`: "21",
		"stages[0].note": "24", "stages[1].steps": "27", "out": "28",
	} {
		assert.Equal(t, "configs/x.yaml:"+line, positions.Of(key), key)
	}
	for _, key := range []string{"train.batch", "stages[1].note", "tags.old", "nothing", ""} {
		assert.Equal(t, "", positions.Of(key), key)
	}
}

func TestDecodeKeepsDefaults(t *testing.T) {
	for _, text := range []string{"{}", "train:\n", "train: # steps: 5\nmodel:\n  # layers: 3\n", "train: {}"} {
		got := defaults()
		_, err := decode(Reader{}, "x.yaml", []byte(text), &got)
		require.NoError(t, err, text)
		assert.Equal(t, defaults(), got, text)
	}
}

func TestDecodeMergesSectionsAndReplacesTheRest(t *testing.T) {
	start := defaults()
	start.Model.Moe = &sampleMoe{Experts: 2, Jitter: 3}
	got := start
	_, err := decode(Reader{}, "x.yaml", []byte("model: {moe: {experts: 9}, rank: null, widths: null}\ndata: {paths: []}\ntags: {new: a}\n"), &got)
	require.NoError(t, err)
	assert.Equal(t, &sampleMoe{Experts: 9, Jitter: 3}, got.Model.Moe)
	assert.Nil(t, got.Model.Rank)
	assert.Nil(t, got.Model.Widths)
	assert.Equal(t, []string{}, got.Data.Paths)
	assert.Equal(t, map[string]string{"new": "a"}, got.Tags)

	assert.Equal(t, &sampleMoe{Experts: 2, Jitter: 3}, start.Model.Moe, "a pointee shared with the defaults was written to")
	assert.Equal(t, map[string]string{"old": "yes"}, start.Tags)
}

func TestDecodeFailureChangesNothing(t *testing.T) {
	got := defaults()
	got.Model.Moe = &sampleMoe{}
	_, err := decode(Reader{}, "x.yaml", []byte("name: new\nmodel: {rank: 9, moe: {experts: 5}}\ntags: {old: no}\ntrain: {steps: many}\n"), &got)
	require.Error(t, err)
	want := defaults()
	want.Model.Moe = &sampleMoe{}
	assert.Equal(t, want, got)
}

func TestDecodeReadsWindowsText(t *testing.T) {
	got := defaults()
	text := "\ufeff" + strings.ReplaceAll("# c\nname: \"a\"\nout: 'b'\n\ntrain:\n  lr: 1\n", "\n", "\r\n")
	positions, err := decode(Reader{}, "x.yaml", []byte(text), &got)
	require.NoError(t, err)
	assert.Equal(t, "a", got.Name)
	assert.Equal(t, "x.yaml:6", positions.Of("train.lr"))
}

func TestDecodeCountsLinesAfterLongValues(t *testing.T) {
	for _, value := range []string{
		`"two` + "\n  lines\"", `'two` + "\n\n  lines'", "two\n  lines", "|\n  two\n\n  lines\n\n", ">-\n  two\n\n\n  lines",
		"|2-\n    two\n# comment", "\n\n  alone", "# comment\n  alone", `"escaped \` + "\n  end\"", `"é\n\"" # "`,
	} {
		got := defaults()
		before := "# first\nname: " + value
		positions, err := decode(Reader{}, "x.yaml", []byte(before+"\ntrain:\n\n  steps: 3\n"), &got)
		require.NoError(t, err, value)
		p := &Positions{file: "x.yaml"}
		assert.Equal(t, p.line(strings.Count(before, "\n")+4), positions.Of("train.steps"), value)
	}
}

func TestDecodeWantsAStructPointer(t *testing.T) {
	var nilPointer *sample
	number := 3
	for _, v := range []any{nil, sample{}, nilPointer, &number, map[string]int{}} {
		_, err := decode(Reader{}, "x.yaml", []byte("name: a"), v)
		assert.ErrorContains(t, err, "want a pointer to a struct")
		assert.ErrorContains(t, set(v, "name=a"), "want a pointer to a struct")
	}
	_, err := Marshal(&number)
	assert.ErrorContains(t, err, "want a struct or a pointer to one, got *int")
	_, err = Marshal(nil)
	assert.ErrorContains(t, err, "want a struct or a pointer to one, got <nil>")
}

func TestDecodeRefusesTypesItCannotFill(t *testing.T) {
	for want, v := range map[string]any{
		"Bad has the type chan int": &struct {
			Bad chan int `yaml:"bad"`
		}{},
		"Bad has the type interface {}": &struct {
			Bad any `yaml:"bad"`
		}{},
		"Bad has the type **int": &struct {
			Bad **int `yaml:"bad"`
		}{},
		"Bad has the type map[int]int": &struct {
			Bad map[int]int `yaml:"bad"`
		}{},
		"Bad[] has the type complex64": &struct {
			Bad []complex64 `yaml:"bad"`
		}{},
		`has two fields tagged "a"`: &struct {
			A int `yaml:"a"`
			B int `yaml:"a"`
		}{},
		`is tagged "a" but not exported`: &struct {
			a int `yaml:"a"`
		}{a: 1},
		`is tagged "a,omitempty"; want a name alone`: &struct {
			A int `yaml:"a,omitempty"`
		}{},
	} {
		_, err := decode(Reader{}, "x.yaml", []byte("bad: 1"), v)
		assert.ErrorContains(t, err, want)
		_, err = Marshal(v)
		assert.ErrorContains(t, err, want)
	}
}

// node is a type that holds itself.
type node struct {
	Value int     `yaml:"value"`
	Next  *node   `yaml:"next"`
	Rest  []*node `yaml:"rest"`
}

func TestDecodeReadsRecursiveTypes(t *testing.T) {
	var got node
	_, err := decode(Reader{}, "x.yaml", []byte("next: {next: {value: 3}}\nrest: [{value: 1}, null]"), &got)
	require.NoError(t, err)
	assert.Equal(t, node{Next: &node{Next: &node{Value: 3}}, Rest: []*node{{Value: 1}, nil}}, got)
	_, err = decode(Reader{}, "x.yaml", []byte("next: {next: {valu: 3}}"), &got)
	assert.EqualError(t, err, `x.yaml:1: next.next.valu: unknown key; did you mean "value"?`)
}

func TestErrorfNamesPositionAndKey(t *testing.T) {
	got := defaults()
	positions, err := decode(Reader{}, "configs/x.yaml", []byte("\nmodel:\n  rank: 0\n"), &got)
	require.NoError(t, err)
	err = positions.Errorf("model.rank", "want >= %d, got %d", 1, 0)
	assert.EqualError(t, err, "configs/x.yaml:3: model.rank: want >= 1, got 0")
	var typed *Error
	require.True(t, errors.As(err, &typed))
	assert.Equal(t, Error{Position: "configs/x.yaml:3", Key: "model.rank", Problem: "want >= 1, got 0"}, *typed)

	assert.EqualError(t, positions.Errorf("train.steps", "want >= 1"), "configs/x.yaml: train.steps: want >= 1")
	require.NoError(t, positions.set(&got, "train.steps=0"))
	assert.EqualError(t, positions.Errorf("train.steps", "want >= 1"), "-set: train.steps: want >= 1")

	var none *Positions
	assert.Equal(t, "", none.Of("name"))
	assert.EqualError(t, none.Errorf("name", "is empty"), "name: is empty")
	assert.EqualError(t, (&Positions{}).Errorf("", "is empty"), "is empty")
}

// set makes an assignment to a struct that no text was read into.
func set(v any, assignment string) error { return new(Positions).set(v, assignment) }

// decode reads a text without assignments.
func decode(r Reader, file string, text []byte, v any) (*Positions, error) {
	return r.Read(v, file, text, nil)
}
