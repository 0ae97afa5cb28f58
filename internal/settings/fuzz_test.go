package settings

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkOutcome requires an *Error of one line, or a value for which Decode reads back what Marshal
// writes.
func checkOutcome(t *testing.T, v *sample, err error) {
	t.Helper()
	if err != nil {
		var typed *Error
		require.True(t, errors.As(err, &typed), "%T", err)
		assert.False(t, strings.ContainsAny(err.Error(), "\n\r"), "%q", err.Error())
		assert.True(t, utf8.ValidString(err.Error()), "%q", err.Error())
		return
	}
	text, err := Marshal(v)
	require.NoError(t, err)
	if len(text) > MaxText {
		return // escapes made the text longer than Decode takes
	}
	got := defaults()
	_, err = decode(Reader{}, "again.yaml", text, &got)
	require.NoError(t, err, "%q", text)
	assert.Equal(t, *v, got, "%q", text)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(everything))
	for _, c := range decodeErrors {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("\xef\xbb\xbfname: \xff\xfe"))
	f.Fuzz(func(t *testing.T, text []byte) {
		v := defaults()
		_, err := decode(Reader{}, "x.yaml", text, &v)
		checkOutcome(t, &v, err)
	})
}

func FuzzSet(f *testing.F) {
	for _, seed := range []string{
		"train.steps=200", "data.paths=[a, b]", "tags.a b=c", "model.moe={experts: 3}", "stages=[{steps: 1}]", "name=\"\\u00e9\"",
		"name=- a", "name=|\n  a", "tags={\"\": x}", "=", "a.b.c=d", "tags..=x", "name=\xff", "model.moe.experts=2",
		"stages=0\n\n0", "tags.a b9\xbe=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, assignment string) {
		v := defaults()
		checkOutcome(t, &v, set(&v, assignment))
	})
}

func FuzzMarshalString(f *testing.F) {
	for _, seed := range []string{"", "a", "a: b", "'\"\\\n\r\t\x00\x7f\u0085\u2028\ufeff😀"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 1000 {
			return
		}
		v := sample{Name: text, Tags: map[string]string{text: text}, Data: sampleData{Paths: []string{text, text}}}
		checkOutcome(t, &v, nil)
	})
}

func FuzzKinds(f *testing.F) {
	f.Add("shape: {kind: circle, r: 3}", "shape.kind=rectangle")
	f.Add("shape: {kind: rectangle, a: 3, corners: {radius: 1}}\nhole: {b: 2}", "hole.a=1")
	f.Add("hole: {b: 2}\nshape: {a: 2}", "shape={kind: circle}")
	f.Add("shape: circle\nradius: 3\na: [1]", "hole={}")
	f.Fuzz(func(t *testing.T, text, assignment string) {
		v := drawing{Shape: circle{R: 1}}
		if _, err := draw(&v, text, assignment); err != nil {
			var typed *Error
			require.True(t, errors.As(err, &typed), "%T", err)
			assert.False(t, strings.ContainsAny(err.Error(), "\n\r"), "%q", err.Error())
			return
		}
		written, err := Marshal(v)
		require.NoError(t, err)
		var again drawing
		_, err = draw(&again, string(written))
		if v.Hole != nil && (v.Shape == nil || reflect.TypeOf(v.Hole) != reflect.TypeOf(v.Shape)) {
			return // the hole kept its kind when the shape's changed, which a run's check of its model refuses
		}
		require.NoError(t, err, "%q", written)
		assert.Equal(t, v, again, "%q", written)
	})
}
