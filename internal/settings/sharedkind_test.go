package settings

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pen is a section whose kinds share the key ink.
type pen struct {
	Tip tip `yaml:"kind" default:"plain" added:"plain" help:"the tip"`
	Ink int `yaml:"ink" help:"what is left"`
}

type tip interface{ Name() string }

type plain struct{}

type brush struct {
	Width int `yaml:"width" help:"of a stroke"`
}

func (plain) Name() string { return "plain" }
func (brush) Name() string { return "brush" }

type desk struct {
	Pen pen `yaml:"pen"`
}

var pens = Reader{Kinds: Kinds{reflect.TypeFor[tip](): {plain{}, brush{Width: 2}}}}

// TestKindsShareKeys: another kind keeps what all kinds have; without one the section has the
// default.
func TestKindsShareKeys(t *testing.T) {
	for _, c := range []struct {
		text  string
		sets  []string
		start tip
		want  pen
	}{
		{"pen: {ink: 3}", nil, nil, pen{plain{}, 3}},
		{"pen: {kind: brush, ink: 3}", nil, nil, pen{brush{2}, 3}},
		{"pen: {width: 5, ink: 3, kind: brush}", nil, nil, pen{brush{5}, 3}},
		{"pen: {width: 5}", nil, brush{1}, pen{brush{5}, 9}},
		{"pen: {kind: plain}", nil, brush{1}, pen{plain{}, 9}},
		{"pen: {kind: brush}", nil, brush{1}, pen{brush{1}, 9}},
		{"pen: {}", []string{"pen.ink=4", "pen.kind=brush", "pen.width=7"}, nil, pen{brush{7}, 4}},
		{"pen: {kind: brush, width: 3}", []string{"pen.kind=plain"}, nil, pen{plain{}, 9}},
	} {
		v := desk{pen{c.start, 9}}
		_, err := pens.Read(&v, "x.yaml", []byte(c.text), c.sets)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, v.Pen, c.text)
		text, err := Marshal(v)
		require.NoError(t, err)
		var again desk
		_, err = pens.Read(&again, "x.yaml", text, nil)
		require.NoError(t, err, string(text))
		assert.Equal(t, v, again, string(text))
	}
}

// TestKindsThatShareKeysRefuse lists what a section cannot hold.
func TestKindsThatShareKeysRefuse(t *testing.T) {
	for _, c := range []struct {
		text, want string
		sets       []string
	}{
		{"pen: {kind: brsh}", `x.yaml:1: pen.kind: unknown kind "brsh"; did you mean brush?`, nil},
		{"pen: {width: 3}", "x.yaml:1: pen.width: unknown key of kind plain: it belongs to brush", nil},
		{"pen: {inc: 3}", `x.yaml:1: pen.inc: unknown key; did you mean "ink"?`, nil},
		{"pen: {kind: brush, ink: 3, ink: 4}", "x.yaml:1: pen.ink: given twice, first on line 1", nil},
		{"pen: {kind: brush}", "-set: pen.kind: another kind discards pen.width, which was set before: set the kind first", []string{"pen.width=3", "pen.kind=plain"}},
	} {
		var v desk
		_, err := pens.Read(&v, "x.yaml", []byte(c.text), c.sets)
		assert.EqualError(t, err, c.want, c.text)
	}
	var v desk
	_, err := Reader{Kinds: Kinds{reflect.TypeFor[tip](): {plain{}, inky{}}}}.Read(&v, "x.yaml", []byte("pen: {ink: 3}"), nil)
	assert.EqualError(t, err, `settings: settings.inky has a field tagged "ink", a key that all kinds of its section share: rename it`)
}

// inky has a key of its section.
type inky struct {
	Ink int `yaml:"ink"`
}

func (inky) Name() string { return "inky" }

// TestKeysOfKindsThatShareThem: each key once, those of one kind with its name.
func TestKeysOfKindsThatShareThem(t *testing.T) {
	for _, start := range []tip{nil, brush{3}} {
		keys, err := Keys(pens.Kinds, desk{pen{Tip: start}})
		require.NoError(t, err)
		var rows [][4]string
		for _, k := range keys {
			rows = append(rows, [4]string{k.Name, k.Type, k.Default, k.Kinds})
		}
		assert.Equal(t, [][4]string{{"pen", "section", "", ""}, {"pen.kind", "string", "plain", ""}, {"pen.width", "integer", "2", "brush"}, {"pen.ink", "integer", "0", ""}}, rows)
	}
}
