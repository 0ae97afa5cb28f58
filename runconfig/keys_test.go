package runconfig

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/settings"
)

func TestEveryKeyHasAHelpText(t *testing.T) {
	keys, err := Keys(zoo)
	require.NoError(t, err)
	for _, k := range keys {
		assert.NotEmpty(t, strings.TrimSpace(k.Help), k.Name)
		assert.Equal(t, k.IsSection(), k.Default == "", k.Name)
		assert.NotContains(t, k.Help+k.Default, "\n", k.Name)
		assert.NotContains(t, k.Help+k.Default, "|", "%s: it would end a column of the page", k.Name)
	}
}

// TestEveryExportedFieldIsAKey: a field without tags would silently not be part of a config.
func TestEveryExportedFieldIsAKey(t *testing.T) {
	var look func(typ reflect.Type)
	look = func(typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			_, tagged := f.Tag.Lookup("yaml")
			assert.Equal(t, f.IsExported(), tagged, "%s.%s", typ, f.Name)
			if tagged && f.Type.Kind() == reflect.Struct {
				look(f.Type)
			}
		}
	}
	look(reflect.TypeFor[Run]())
}

// TestKeysNameTheDefaults: in a config with few keys, for a model of each stream, every other key
// has the default that Keys lists, or Keys says that it follows from other keys.
func TestKeysNameTheDefaults(t *testing.T) {
	keys, err := Keys(zoo)
	require.NoError(t, err)
	defaults := defaultsOf(keys)
	compared, constant := map[string]bool{}, map[string]bool{}
	for _, model := range explicitModels {
		run, where, err := Parse(zoo, "x.yaml", []byte("model: "+model+"\ntrain: {steps: 10, lr: 1e-3}\n"), nil)
		require.NoError(t, err, model)
		entries, err := settings.Entries(*run)
		require.NoError(t, err)
		for _, e := range entries {
			if e.Section || strings.HasPrefix(e.Key, "model.mup.base.") || e.Tag.Get("default") != "" {
				continue
			}
			constant[e.Key] = true
			if where.Of(e.Key) == "" {
				compared[e.Key] = true
				assert.Contains(t, defaults[e.Key], settings.Text(e.Value.Interface()), "%s, of %s: say in its tag default what it is, and in from what it follows from", e.Key, model)
			}
		}
	}
	assert.Equal(t, constant, compared, "no config here leaves it out")
}

// defaultsOf returns the defaults of keys by name, one for each meaning of a key.
func defaultsOf(keys []settings.Key) map[string][]string {
	defaults := map[string][]string{}
	for _, k := range keys {
		defaults[k.Name] = append(defaults[k.Name], k.Default)
	}
	return defaults
}

// TestKeysNameWhatIsRequired: a key that is listed as required is refused when it is missing.
func TestKeysNameWhatIsRequired(t *testing.T) {
	keys, err := Keys(zoo)
	require.NoError(t, err)
	defaults := defaultsOf(keys)
	const gelu, train = "feedforward: {kind: gelu, hidden: 1}, seq: 1}", "\ntrain: {steps: 1, lr: 1}"
	for key, text := range map[string]string{
		"train.lr":                 "model: {preset: quickstart}\ntrain: {steps: 1}",
		"train.steps":              "model: {preset: quickstart}\ntrain: {lr: 1}",
		"model.stream":             "train: {steps: 1, lr: 1}",
		"model.layers":             "model: {stream: {kind: matrix, dk: 1, dv: 1, rank: 1}, " + gelu + train,
		"model.stream.m":           "model: {stream: {kind: vwn, d_model: 8, n: 2}, attention: {heads: 1}, layers: 1, " + gelu + train,
		"model.stream.n":           "model: {stream: {kind: vwn, d_model: 8, m: 2}, attention: {heads: 1}, layers: 1, " + gelu + train,
		"model.attention.heads":    "model: {stream: {kind: vector, d_model: 8}, layers: 1, " + gelu + train,
		"model.feedforward":        "model: {stream: {kind: vector, d_model: 8}, attention: {heads: 1}, layers: 1, seq: 1}" + train,
		"model.feedforward.hidden": "model: {stream: {kind: vector, d_model: 8}, attention: {heads: 1}, layers: 1, feedforward: {kind: gelu}, seq: 1}" + train,
	} {
		_, _, err := Parse(zoo, "x.yaml", []byte(text), nil)
		position := "x.yaml"
		if strings.Count(key, ".") == 2 && key != "model.attention.heads" { // reported at the kind that has the key
			position = "x.yaml:1"
		}
		requireAt(t, err, position, key)
		assert.Contains(t, strings.Join(append(defaults[key], defaults[key+"."+settings.KindKey]...), "; "), "required", key)
	}
}
