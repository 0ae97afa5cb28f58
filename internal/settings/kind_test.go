package settings

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shape is implemented by the structs that a section with a kind holds.
type shape interface{ Name() string }

type circle struct {
	R     int  `yaml:"r"`
	Round bool `yaml:"round"`
}

type sides struct {
	A int `yaml:"a"`
	B int `yaml:"b"`
}

type rectangle struct {
	sides
	Corners *corners `yaml:"corners"`
}

type corners struct {
	Radius int `yaml:"radius"`
}

func (circle) Name() string    { return "circle" }
func (rectangle) Name() string { return "rectangle" }

type drawing struct {
	Title string `yaml:"title"`
	Shape shape  `yaml:"shape"`
	Hole  shape  `yaml:"hole" kind:"shape"`
	Last  int    `yaml:"last"`
}

// shapes returns kinds with their own defaults: a circle has a radius of 5.
var shapes = Reader{Kinds: Kinds{reflect.TypeFor[shape](): {circle{R: 5}, rectangle{}}}}

// draw decodes a text over v, then makes assignments.
func draw(v *drawing, text string, sets ...string) (*Positions, error) {
	return shapes.Read(v, "x.yaml", []byte(text), sets)
}

func TestAKindChoosesTheStructOfASection(t *testing.T) {
	round := circle{R: 9, Round: true}
	for _, c := range []struct {
		name, text string
		sets       []string
		start      shape
		want       shape
	}{
		{"with the kind's defaults", "shape: {kind: circle}", nil, nil, circle{R: 5}},
		{"with values", "shape:\n  r: 3\n  kind: circle", nil, nil, circle{R: 3}},
		{"zero is a value", "shape: {kind: circle, r: 0}", nil, nil, circle{}},
		{"keys of embedded structs", "shape: {kind: rectangle, b: 2, corners: {radius: 1}}", nil, nil, rectangle{sides{0, 2}, &corners{1}}},
		{"kind left out", "shape: {r: 3}", nil, round, circle{3, true}},
		{"the same kind", "shape: {kind: circle, r: 3}", nil, round, circle{3, true}},
		{"another kind", "shape: {kind: rectangle, a: 1}", nil, round, rectangle{sides: sides{A: 1}}},
		{"another kind and back", "shape: {kind: rectangle, a: 1}", []string{"shape={kind: circle}"}, round, circle{R: 5}},
		{"nothing", "shape:", nil, round, round},
		{"an empty one", "shape: {}", nil, round, round},
		{"null", "shape: null", nil, round, nil},
		{"a value set", "title: a", []string{"shape.r=2"}, round, circle{2, true}},
		{"a kind set", "shape: {r: 3}", []string{"shape.kind=rectangle", "shape.corners.radius=4"}, round, rectangle{sides{}, &corners{4}}},
		{"a section set", "shape: {r: 3}", []string{"shape={kind: rectangle, b: 4}", "shape={a: 1}"}, round, rectangle{sides: sides{1, 4}}},
		{"a kind set that it has", "shape: {r: 3}", []string{"shape.kind=circle"}, round, circle{3, true}},
	} {
		v := drawing{Shape: c.start}
		_, err := draw(&v, c.text, c.sets...)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, v.Shape, c.name)
	}
	assert.Equal(t, circle{9, true}, round)
	assert.Equal(t, circle{R: 5}, shapes.Kinds[reflect.TypeFor[shape]()][0], "the kind itself was written to")
}

func TestSectionsOfAKindAreReadStrictly(t *testing.T) {
	const kinds = "one of circle, rectangle"
	for _, c := range []struct{ text, set, want string }{
		{"shape: {r: 3}", "", "x.yaml:1: shape.kind: want " + kinds + ", got nothing"},
		{"shape: {}", "", "x.yaml:1: shape.kind: want " + kinds + ", got nothing"},
		{"shape:\n  kind: cirle", "", `x.yaml:2: shape.kind: unknown kind "cirle"; did you mean circle?`},
		{"shape:\n  kind: line", "", `x.yaml:2: shape.kind: want ` + kinds + `, got "line"`},
		{"shape:\n  kind: 3", "", `x.yaml:2: shape.kind: want a string, got 3; write "3" with the quotes`},
		{"shape:\n  kind: circle\n  kind: circle", "", "x.yaml:3: shape.kind: given twice, first on line 2"},
		{"shape:\n  kind: circle\n  a: 3", "", "x.yaml:3: shape.a: unknown key of kind circle: it belongs to rectangle"},
		{"shape:\n  kind: circle\n  rund: true", "", `x.yaml:3: shape.rund: unknown key; did you mean "round"?`},
		{"shape:\n  kind: circle\n  titel: a", "", `x.yaml:3: shape.titel: unknown key; did you mean title at the top level?`},
		{"shape:\n  kind: rectangle\n  xyz: 3", "", "x.yaml:3: shape.xyz: unknown key; known here: kind, a, b, corners"},
		{"shape:\n  kind: rectangle\n  corners: {radus: 3}", "", `x.yaml:3: shape.corners.radus: unknown key; did you mean "radius"?`},
		{"shape:\n  kind: circle\n  r: many", "", `x.yaml:3: shape.r: want an integer, got "many"`},
		{"round: true", "", "x.yaml:1: round: unknown key; did you mean shape.round?"},
		{"shape: 3", "", "x.yaml:1: shape: want a map with the key kind, " + kinds + ", and that kind's keys, got 3"},
		{"shape: [circle]", "", "x.yaml:1: shape: want a map with the key kind, " + kinds + ", and that kind's keys, got a list"},
		{"shape:\n- kind: circle", "", "x.yaml:2: shape: want a map with the key kind, " + kinds + ", and that kind's keys, got a list"},

		{"title: a", "shape.r=3", "-set: shape.r: want shape.kind first, " + kinds},
		{"title: a", "shape.kind=cirle", `-set: shape.kind: unknown kind "cirle"; did you mean circle?`},
		{"title: a", "shape.kind=", `-set: shape.kind: want a string, got nothing; write "" for an empty one`},
		{"title: a", "shape.kind.x=1", "-set: shape.kind.x: unknown key; the value of shape.kind is a string"},
		{"title: a", "shape=", "-set: shape: want a map with the key kind, " + kinds + ", and that kind's keys, got nothing"},
		{"shape: {kind: circle}", "shape.a=3", "-set: shape.a: unknown key of kind circle: it belongs to rectangle"},
		{"shape: {kind: circle}", "shape.rund=3", `-set: shape.rund: unknown key; did you mean "round"?`},
		{"shape: {kind: circle}", "shape.r=x", `-set: shape.r: want an integer, got "x"`},

		{"title: a\nshape: circle\nlast: 1", "", "x.yaml:2: shape: want a section: write shape: {kind: circle}"},
		{"title: a", "shape=circle", "-set: shape: want a section: write shape: {kind: circle}"},

		{"hole: {r: 3}", "", "x.yaml:1: hole: want nothing without shape, whose kind it has"},
		{"hole: {a: 3}\nshape: {kind: circle}", "", "x.yaml:1: hole.a: unknown key of kind circle: it belongs to rectangle"},
		{"shape: {kind: circle}\nhole: {kind: circle}", "", "x.yaml:2: hole.kind: unknown key: the section has the kind of another one; remove it"},
		{"shape: {kind: circle}\nhole: 3", "", "x.yaml:2: hole: want a map with the keys r, round, got 3"},
		{"shape: {kind: circle}", "hole.a=3", "-set: hole.a: unknown key of kind circle: it belongs to rectangle"},
	} {
		start := drawing{Last: 7}
		v := start
		var sets []string
		if c.set != "" {
			sets = []string{c.set}
		}
		_, err := draw(&v, c.text, sets...)
		assert.EqualError(t, err, c.want, "%s %s", c.text, c.set)
		assert.Nil(t, v.Hole)
		if c.set == "" {
			assert.Equal(t, start, v, c.text)
		}
	}
}

func TestAnotherKindDoesNotDiscardWhatWasAssigned(t *testing.T) {
	v := drawing{Shape: circle{}}
	_, err := draw(&v, "shape: {r: 1}", "shape.r=3", "shape.kind=rectangle")
	assert.EqualError(t, err, "-set: shape.kind: another kind discards shape.r, which was set before: set the kind first")
	_, err = draw(&v, "shape: {r: 1}", "shape.r=3", "shape={kind: rectangle}")
	assert.EqualError(t, err, "-set: shape.kind: another kind discards shape.r, which was set before: set the kind first")
	_, err = draw(&v, "shape: {r: 1}", "shape.kind=rectangle", "shape.a=3", "shape.kind=rectangle")
	assert.NoError(t, err)
}

func TestPositionsOfASectionOfAKind(t *testing.T) {
	var v drawing
	p, err := draw(&v, "shape:\n  kind: circle\n  r: 3\nhole:\n  r: 1\n")
	require.NoError(t, err)
	for key, want := range map[string]string{"shape": "x.yaml:1", "shape.kind": "x.yaml:2", "shape.r": "x.yaml:3", "shape.round": "", "hole": "x.yaml:4", "hole.r": "x.yaml:5"} {
		assert.Equal(t, want, p.Of(key), key)
	}
	require.NoError(t, p.set(&v, "shape.kind=rectangle"))
	for key, want := range map[string]string{"shape": "-set", "shape.kind": "-set", "shape.r": "", "hole.r": "x.yaml:5"} {
		assert.Equal(t, want, p.Of(key), key)
	}
	require.NoError(t, p.set(&v, "shape={a: 1}"))
	assert.Equal(t, "-set", p.Of("shape.a"))
}

// TestASectionHasTheKindOfAnother: the section may come before or after the one that has the kind,
// and starts with zeros.
func TestASectionHasTheKindOfAnother(t *testing.T) {
	for _, c := range []struct {
		text string
		sets []string
		want shape
	}{
		{"hole: {round: true}\nshape: {kind: circle}", nil, circle{Round: true}},
		{"shape: {kind: circle}\nhole: {}", nil, circle{}},
		{"shape: {kind: circle}\nhole: null", nil, nil},
		{"shape: {kind: circle}", []string{"hole.r=2"}, circle{R: 2}},
		{"shape: {kind: circle}\nhole: {round: true}", []string{"hole.r=2", "hole={r: 3}"}, circle{R: 3, Round: true}},
		{"shape: {kind: circle}\nhole: {r: 3}", []string{"hole=null"}, nil},
		{"shape: {kind: circle}\nhole: {r: 3}", []string{"shape.kind=rectangle", "hole.a=1"}, rectangle{sides: sides{A: 1}}},
	} {
		var v drawing
		_, err := draw(&v, c.text, c.sets...)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, v.Hole, c.text)
	}
}

func TestMarshalWritesTheKindFirst(t *testing.T) {
	for text, v := range map[string]drawing{
		"title: \"\"\nshape: null\nhole: null\nlast: 0\n": {},
		"title: \"\"\nshape:\n  kind: rectangle\n  a: 1\n  b: 0\n  corners:\n    radius: 2\nhole:\n  a: 0\n  b: 3\n  corners: null\nlast: 0\n": {
			Shape: rectangle{sides{A: 1}, &corners{2}}, Hole: rectangle{sides: sides{B: 3}}},
	} {
		got, err := Marshal(v)
		require.NoError(t, err)
		assert.Equal(t, text, string(got))
		again := drawing{Shape: circle{}}
		_, err = draw(&again, text)
		require.NoError(t, err)
		assert.Equal(t, v, again)
	}
}

type badKind struct {
	Kind string `yaml:"kind"`
}

func (badKind) Name() string { return "bad" }

type chanKind struct {
	C chan int `yaml:"c"`
}

func (chanKind) Name() string { return "chan" }

type pointerKind struct{}

func (*pointerKind) Name() string { return "pointer" }

// TestKindsThatNoConfigCanHoldAreRefused: a mistake in a design's struct is reported by every
// function that meets it.
func TestKindsThatNoConfigCanHoldAreRefused(t *testing.T) {
	for want, kind := range map[string]shape{
		`settings: settings.badKind has a field tagged "kind", which is the key of its kind`: badKind{},
		"settings: settings.chanKind.C has the type chan int, which no setting can hold":     chanKind{},
		"settings: *settings.pointerKind is a kind of a section; want a struct":              &pointerKind{},
	} {
		var v drawing
		_, err := decode(Reader{Kinds: Kinds{reflect.TypeFor[shape](): {kind}}}, "x.yaml", []byte("title: a"), &v)
		assert.EqualError(t, err, want)
		_, err = Marshal(drawing{Shape: kind})
		assert.EqualError(t, err, want)
	}
}

// point is a kind without keys; board has a section that may be written as the name of a kind.
type point struct{}

func (point) Name() string { return "point" }

type board struct {
	Shape shape `yaml:"shape" word:"kind" help:"what is on it"`
}

// TestAWordIsASectionOfItsKind: the name of a kind alone is read as a section of that kind. It is
// written for kinds without keys only.
func TestAWordIsASectionOfItsKind(t *testing.T) {
	words := Reader{Kinds: Kinds{reflect.TypeFor[shape](): {point{}, circle{R: 5}}}}
	for text, want := range map[string]struct {
		shape shape
		text  string
	}{
		"shape: point":                {point{}, "shape: point\n"},
		"shape: {kind: point}":        {point{}, "shape: point\n"},
		"shape: circle":               {circle{R: 5}, "shape:\n  kind: circle\n  r: 5\n  round: false\n"},
		"shape: {kind: circle}":       {circle{R: 5}, "shape:\n  kind: circle\n  r: 5\n  round: false\n"},
		"shape: {kind: circle, r: 1}": {circle{R: 1}, "shape:\n  kind: circle\n  r: 1\n  round: false\n"},
	} {
		b := board{Shape: point{}}
		where, err := words.Read(&b, "x.yaml", []byte("\n"+text), nil)
		require.NoError(t, err, text)
		assert.Equal(t, want.shape, b.Shape, text)
		assert.Equal(t, "x.yaml:2", where.Of("shape"), text)
		written, err := Marshal(b)
		require.NoError(t, err)
		assert.Equal(t, want.text, string(written), text)
	}
	b := board{Shape: point{}}
	_, err := words.Read(&b, "x.yaml", []byte("shape: point"), []string{"shape=circle", "shape.r=2"})
	require.NoError(t, err)
	assert.Equal(t, circle{R: 2}, b.Shape)
	_, err = words.Read(&b, "x.yaml", []byte("\nshape: square"), nil)
	assert.EqualError(t, err, `x.yaml:2: shape.kind: want one of point, circle, got "square"`)
	entries, err := Entries(board{Shape: point{}})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, []any{"shape", "point", false}, []any{entries[0].Key, entries[0].Value.String(), entries[0].Section})
	keys, err := Keys(words.Kinds, board{Shape: point{}})
	require.NoError(t, err)
	require.Len(t, keys, 3)
	assert.Equal(t, Key{Name: "shape", Type: "string", Default: "point", Help: "what is on it; one of point, circle"}, keys[0])
	assert.Equal(t, [2]string{"shape.r", "circle"}, [2]string{keys[1].Name, keys[1].Kinds})
}
