package settings

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// place has a method of its own that parses texts such as layer/head.
type place struct{ layer, head string }

func (p *place) UnmarshalText(text []byte) error {
	var found bool
	if p.layer, p.head, found = strings.Cut(string(text), "/"); !found {
		return errors.New("want LAYER/HEAD, got " + quoted(string(text)))
	}
	return nil
}

// shared holds flags that several commands share.
type shared struct {
	Threads int `yaml:"threads" min:"0" max:"64" help:"use <N> threads"`
}

type call struct {
	shared
	Text     string    `yaml:"text" help:"print <TEXT>"`
	Steps    int       `yaml:"max_steps" default:"5" min:"1" help:"go <N> steps"`
	Rates    []float64 `yaml:"rates" default:"1,2" split:"," min:"0" help:"try the rates <R,...>"`
	Names    []string  `yaml:"name" help:"take <NAME>; may be repeated"`
	At       place     `yaml:"at" help:"look at <LAYER/HEAD>"`
	Seed     *uint64   `yaml:"seed" help:"seed with <N>"`
	JSON     bool      `yaml:"json" group:"Output" help:"write JSON"`
	Tuned    tuned     `yaml:"tuned" help:"a tuned lens"`
	Runs     []string  `yaml:"runs" arg:"RUN..." help:"read these"`
	Python   string    `yaml:"python" bare:"python3" help:"run <PYTHON>"`
	Untagged string
}

type tuned struct {
	Steps int `yaml:"steps" default:"200" help:"train for <N> steps"`
}

func newCall(t *testing.T) (*call, Flags) {
	var c call
	require.NoError(t, SetDefaults(&c))
	flags, err := NewFlags(&c)
	require.NoError(t, err)
	return &c, flags
}

func setFlag(flags Flags, name, text string) error {
	if name == "" {
		f, _ := flags.Operand()
		return f.SetAlone(text)
	}
	f, err := flags.Lookup(name)
	if err != nil {
		return err
	}
	return f.Set(text)
}

func TestFlagsSetFieldsOfEveryKind(t *testing.T) {
	c, flags := newCall(t)
	assert.Equal(t, call{Steps: 5, Rates: []float64{1, 2}, Tuned: tuned{200}}, *c)
	for _, given := range [][2]string{{"text", "a: b # c"}, {"max-steps", "7"}, {"rates", "7"}, {"rates", "1e-3,2"}, {"name", "a,b"}, {"name", "c"},
		{"at", "1/h"}, {"seed", "9"}, {"json", "true"}, {"tuned-steps", "3"}, {"", "x"}, {"", "y"}, {"threads", "2"}} {
		require.NoError(t, setFlag(flags, given[0], given[1]), given[0])
	}
	require.NoError(t, flags.Check())
	nine := uint64(9)
	assert.Equal(t, call{shared{2}, "a: b # c", 7, []float64{1e-3, 2}, []string{"a,b", "c"}, place{"1", "h"}, &nine, true, tuned{3}, []string{"x", "y"}, "", ""}, *c)
	assert.Equal(t, Given{"threads", "text", "max-steps", "rates", "name", "at", "seed", "json", "tuned-steps"}, flags.Given())
}

func TestFlagsThatStandAlone(t *testing.T) {
	_, flags := newCall(t)
	for name, want := range map[string]string{"json": "true", "python": "python3", "text": ""} {
		f, err := flags.Lookup(name)
		require.NoError(t, err)
		assert.Equal(t, want, f.Bare(), name)
	}
}

func TestBadFlagsAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"stesp", "", "unknown flag -stesp"},
		{"max-step", "", "unknown flag -max-step; did you mean -max-steps?"},
		{"max-steps", "1.5", "-max-steps: want an integer, got 1.5"},
		{"max-steps", "1e3", "-max-steps: want an integer, got 1e3; write 1000"},
		{"max-steps", "", "-max-steps: want an integer, got nothing"},
		{"max-steps", "0", "-max-steps: want >= 1, got 0"},
		{"threads", "65", "-threads: want <= 64, got 65"},
		{"rates", "1,-1", "-rates: want >= 0, got -1"},
		{"rates", "1,x", `-rates: want a number, got "x"`},
		{"name", "", "-name: want a value, got an empty one"},
		{"text", "", "-text: want a value, got an empty one"},
		{"python", "", "-python: want a value, got an empty one"},
		{"json", "perhaps", `-json: want true or false, got "perhaps"`},
		{"at", "1", `-at: want LAYER/HEAD, got "1"`},
		{"seed", "-1", "-seed: want an integer >= 0, got -1"},
	} {
		_, flags := newCall(t)
		err := setFlag(flags, c.name, c.text)
		if err == nil {
			err = flags.Check()
		}
		assert.EqualError(t, err, c.want, c.name)
	}
}

func TestFlagsDescribeThemselves(t *testing.T) {
	_, flags := newCall(t)
	var lines []string
	for _, f := range flags {
		lines = append(lines, strings.Join([]string{f.Name, f.Value, f.Help, f.Group}, "|"))
	}
	assert.Equal(t, []string{
		"threads|N|use N threads|", "text|TEXT|print TEXT|", "max-steps|N|go N steps (default 5)|", "rates|R,...|try the rates R,... (default 1,2)|",
		"name|NAME|take NAME; may be repeated|", "at|LAYER/HEAD|look at LAYER/HEAD|", "seed|N|seed with N|", "json||write JSON|Output",
		"tuned-steps|N|train for N steps (default 200)|", "RUN...|VALUE|read these|", "python|PYTHON|run PYTHON|"}, lines)
}

// TestATextOfItsOwnIsReadFromFilesToo: a type that parses its own text is also read from YAML.
func TestATextOfItsOwnIsReadFromFilesToo(t *testing.T) {
	var c call
	_, err := decode(Reader{}, "x.yaml", []byte("at: 1/h\nmax_steps: 1"), &c)
	require.NoError(t, err)
	assert.Equal(t, place{"1", "h"}, c.At)
	_, err = decode(Reader{}, "x.yaml", []byte("max_steps: 1\nat: h"), &c)
	assert.EqualError(t, err, `x.yaml:2: at: want LAYER/HEAD, got "h"`)
	_, err = decode(Reader{}, "x.yaml", []byte("at: 3"), &c)
	assert.EqualError(t, err, "x.yaml:1: at: want a string, got 3")
}

// explained has a method with one help text.
type explained struct {
	shared
	Steps int `yaml:"steps"`
	Batch int `yaml:"batch" help:"take <N> rows"`
}

func (explained) Help() map[string]string { return map[string]string{"steps": "go <N> steps"} }

func TestHelpOfAMethod(t *testing.T) {
	flags, err := NewFlags(&struct{ explained }{})
	require.NoError(t, err)
	for name, want := range map[string]string{"steps": "go N steps", "batch": "take N rows", "threads": "use N threads"} {
		f, err := flags.Lookup(name)
		require.NoError(t, err)
		assert.Equal(t, want, f.Help)
	}
}
