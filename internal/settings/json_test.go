package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type body struct {
	Prompt words              `yaml:"prompt"`
	N      int                `yaml:"n" min:"1" max:"8"`
	Seed   *int64             `yaml:"seed"`
	Stream bool               `yaml:"stream"`
	Bias   map[string]float64 `yaml:"bias"`
	IDs    []int32            `yaml:"ids"`
	Inner  inner              `yaml:"inner"`
	Parts  []inner            `yaml:"parts"`
	Part   *inner             `yaml:"part"`
}

type inner struct {
	Scale *float64 `yaml:"scale"`
	Kind  string   `yaml:"kind" choices:"on, off"`
}

// words decodes itself from JSON.
type words []string

func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) != nil {
		return errors.New("want words")
	}
	*w = strings.Fields(one)
	return nil
}

func TestDecodeJSON(t *testing.T) {
	b := body{N: 1, Inner: inner{Kind: "off"}}
	text := `{"prompt": "a b", "seed": 3, "stream": true, "bias": {"1": 2}, "ids": [1, 2], "inner": {"scale": 0.5}, "parts": [{"kind": "on"}], "part": {"kind": "on"}, "n": null} `
	require.NoError(t, DecodeJSON(strings.NewReader(text), &b))
	three, half := int64(3), 0.5
	assert.Equal(t, body{words{"a", "b"}, 1, &three, true, map[string]float64{"1": 2}, []int32{1, 2}, inner{&half, "off"}, []inner{{nil, "on"}}, &inner{nil, "on"}}, b)
}

func TestBadJSONIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                                   "want a JSON object, got a text that ends before it does",
		`{"n": 1`:                            "want a JSON object, got a text that ends before it does",
		`null`:                               "want a JSON object, got null",
		`[]`:                                 "want a JSON object, got an array",
		`"a"`:                                "want a JSON object, got a string",
		`{"n": 1} {}`:                        "want one JSON object, got more after it",
		`{"n": 1,}`:                          "want a JSON object, got something else: invalid character '}'",
		`{"n": 1, "n": 2}`:                   "n: given twice",
		`{"N": 1}`:                           "N: unknown key; did you mean n?",
		`{"promt": 1}`:                       "promt: unknown key; did you mean prompt?",
		`{"n": 9}`:                           "n: want <= 8, got 9",
		`{"n": 1.5}`:                         "n: want an integer, got number 1.5",
		`{"n": "1"}`:                         "n: want an integer, got string",
		`{"stream": 1}`:                      "stream: want true or false, got number",
		`{"seed": {}}`:                       "seed: want an integer, got object",
		`{"bias": {"1": 2, "1": 3}}`:         "bias.1: given twice",
		`{"bias": {"1": "2"}}`:               "bias.1: want a number, got string",
		`{"ids": [1, "a"]}`:                  "ids: want a list of integers, got string",
		`{"inner": 3}`:                       "inner: want a JSON object, got a number",
		`1e700`:                              "want a JSON object, got number 1e700",
		`{"parts": [1e700]}`:                 "parts[0]: want a JSON object, got number 1e700",
		`{"inner": {"scale": 1, "scale":1}}`: "inner.scale: given twice",
		`{"parts": {}}`:                      "parts: want an array, got an object",
		`{"parts": [{"kid": 1}]}`:            "parts[0].kid: unknown key; did you mean kind?",
		`{"parts": [{"kind": "no"}]}`:        `parts[0].kind: want one of on, off, got "no"`,
		`{"inner": {"kind": "no"}}`:          `inner.kind: want one of on, off, got "no"; did you mean on?`,
		`{"prompt": 3}`:                      "want words",
	} {
		var b body
		err := DecodeJSON(strings.NewReader(text), &b)
		require.Error(t, err, text)
		assert.True(t, strings.HasPrefix(err.Error(), want), "%s: %v", text, err)
	}
}

// BenchmarkDecodeJSON reads a body of 8 MB of ids.
func BenchmarkDecodeJSON(b *testing.B) {
	text := `{"n": 1, "ids": [1` + strings.Repeat(",1", 4<<20) + `], "inner": {"kind": "on"}}`
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var v body
		if err := DecodeJSON(strings.NewReader(text), &v); err != nil {
			b.Fatal(err)
		}
	}
}

// list decodes itself, through another type.
type list struct{ names []string }

func (l *list) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &l.names); err != nil {
		return fmt.Errorf("want a list: %w", err)
	}
	return nil
}

func TestErrorsOfValuesThatReadThemselvesAreKept(t *testing.T) {
	var b struct {
		List list `yaml:"list"`
	}
	err := DecodeJSON(strings.NewReader(`{"list": 3}`), &b)
	var wrong *json.UnmarshalTypeError
	require.ErrorAs(t, err, &wrong)
	assert.ErrorContains(t, err, "want a list: ")
}
