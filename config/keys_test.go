package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryKeyHasAHelpText(t *testing.T) {
	keys, err := Keys()
	require.NoError(t, err)
	s, err := schemaOf(reflect.TypeFor[Run]())
	require.NoError(t, err)
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
		assert.NotEmpty(t, strings.TrimSpace(k.Help), k.Name)
		assert.Equal(t, k.IsSection(), k.Default == "", k.Name)
		assert.NotContains(t, k.Help+k.Default, "\n", k.Name)
		assert.NotContains(t, k.Help+k.Default, "|", "%s: it would end a column of the page", k.Name)
	}
	assert.Equal(t, s.paths(reflect.TypeFor[Run]()), names)
}

// TestEveryExportedFieldIsAKey: a field that is forgotten in the tags would silently not be
// part of a config.
func TestEveryExportedFieldIsAKey(t *testing.T) {
	var look func(typ reflect.Type)
	look = func(typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			_, tagged := f.Tag.Lookup("yaml")
			assert.Equal(t, f.IsExported(), tagged, "%s.%s", typ, f.Name)
			if inner := pointee(f.Type); inner.Kind() == reflect.Struct {
				look(inner)
			}
		}
	}
	look(reflect.TypeFor[Run]())
}

// TestKeysNameTheDefaults: of each stream's model a config with few keys gets, for every
// other key, the default that is listed, or is listed to follow from other keys.
func TestKeysNameTheDefaults(t *testing.T) {
	keys, err := Keys()
	require.NoError(t, err)
	s, err := schemaOf(reflect.TypeFor[Run]())
	require.NoError(t, err)
	compared := map[string]bool{}
	for _, model := range explicitModels {
		run, where, err := Parse("x.yaml", []byte("model: "+model+"\ntrain: {steps: 10, lr: 1e-3}\n"), nil)
		require.NoError(t, err)
		i := 0
		s.walk(reflect.ValueOf(*run), func(key string, f field, v reflect.Value) {
			k := keys[i]
			i++
			require.Equal(t, key, k.Name)
			if v.Kind() == reflect.Struct || where.Of(key) != "" || f.tag.Get("default") != "" {
				return
			}
			compared[key] = true
			assert.Equal(t, valueText(v), k.Default, "%s, of %s: say in its tag default what it is, and in from what it follows from", key, model)
		})
	}
	for _, k := range keys {
		if !k.IsSection() && defaultOf(s, k.Name) == "" {
			assert.True(t, compared[k.Name], "%s: no config here leaves it out", k.Name)
		}
	}
}

// defaultOf is the tag of a dotted key.
func defaultOf(s schema, name string) (text string) {
	s.walk(reflect.ValueOf(Run{}), func(key string, f field, _ reflect.Value) {
		if key == name {
			text = f.tag.Get("default")
		}
	})
	return text
}

// TestKeysNameWhatIsRequired: a key that is listed as required is refused when it is missing.
func TestKeysNameWhatIsRequired(t *testing.T) {
	for key, text := range map[string]string{
		"train.lr":     "model: {preset: quickstart}\ntrain: {steps: 1}",
		"train.steps":  "model: {preset: quickstart}\ntrain: {lr: 1}",
		"model.stream": "train: {steps: 1, lr: 1}",
		"model.layers": "model: {stream: matrix, dk: 1, dv: 1, rank: 1, ff: 1, seq: 1}\ntrain: {steps: 1, lr: 1}",
		"model.m":      "model: {stream: vwn, layers: 1, d_model: 8, heads: 1, ff: 1, seq: 1, n: 2}\ntrain: {steps: 1, lr: 1}",
		"model.n":      "model: {stream: vwn, layers: 1, d_model: 8, heads: 1, ff: 1, seq: 1, m: 2}\ntrain: {steps: 1, lr: 1}",
	} {
		_, _, err := Parse("x.yaml", []byte(text), nil)
		assert.ErrorContains(t, err, "x.yaml: "+key+": want ")
		s, err := schemaOf(reflect.TypeFor[Run]())
		require.NoError(t, err)
		assert.Contains(t, defaultOf(s, key), "required", key)
	}
}
