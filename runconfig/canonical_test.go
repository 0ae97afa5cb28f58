package runconfig_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/stream"
)

// TestCanonicalStaysAsItIs: the identities of runs in logs of experiments depend on the canonical
// form.
func TestCanonicalStaysAsItIs(t *testing.T) {
	for config, want := range map[string]string{"pilot": "0edebb8e0eb1dde4", "modern-162m": "9959121f43d95989", "mhc": "b89aee010d0c4750"} {
		assert.Equal(t, want, fmt.Sprintf("%.8x", sha256.Sum256([]byte(canonical(t, config, "train.eval_tokens=262144")))), config)
	}
	plain := canonical(t, "pilot")
	assert.Equal(t, plain, canonical(t, "pilot", "seed=5", "name=x", "out=y", "train.keep_log=true"))
	assert.Equal(t, plain, canonical(t, "pilot", "train.beta1=0.9", "train.min_lr=0.001", "model.stream={kind: matrix, dk: 32, dv: 32, rank: 8}"))
	assert.NotEqual(t, plain, canonical(t, "pilot", "train.beta1=0.91"))
	assert.Contains(t, canonical(t, "pilot", "train.optim.kind=muon"), "\ntrain.optim.kind: muon\n")
	assert.Contains(t, plain, "\ndata.source: goroot\n")
	section := canonical(t, "pilot", "train.schedule={kind: constant}")
	assert.Contains(t, section, "\ntrain.schedule: constant\n")
	assert.Equal(t, section, canonical(t, "pilot", "train.schedule=constant"))
}

func canonical(t *testing.T, name string, sets ...string) string {
	t.Helper()
	run, _, err := runconfig.Load(models.Standard(), name, sets)
	require.NoError(t, err)
	text, err := run.Canonical()
	require.NoError(t, err)
	return text
}

// TestNewKeysChangeNoIdentity: each key that is newer than version 1 of the canonical form has the
// tag added, unless its section's kind is as new. testdata/canonical1.txt lists the keys of version
// 1, each with the kinds of its section that have it.
func TestNewKeysChangeNoIdentity(t *testing.T) {
	text, err := os.ReadFile("testdata/canonical1.txt")
	require.NoError(t, err)
	known, found := strings.Fields(string(text)), map[string]bool{}
	for _, p := range models.Standard().Presets() {
		for _, optim := range []string{"adamw", "muon"} {
			run, _, err := runconfig.Parse(models.Standard(), "x", []byte("model: {preset: "+p.Name+"}\ntrain: {steps: 1, lr: 1, optim: {kind: "+optim+"}}"), nil)
			require.NoError(t, err)
			entries, err := settings.Entries(*run)
			require.NoError(t, err)
			kinds := map[string]string{"model.stream.": p.Config.Stream.Name(), "train.optim.": optim}
			if p.Config.Writes != nil {
				kinds["model.writes."] = p.Config.Writes.Name()
			}
			if p.Config.FeedForward != nil {
				kinds["model.feedforward."] = p.Config.FeedForward.Name()
			}
			for _, e := range entries {
				key, isNewKind := e.Key, false
				for section, kind := range kinds {
					if strings.HasPrefix(key, section) {
						key, isNewKind = key+"@"+kind, !slices.Contains(known, section+"kind@"+kind)
					}
				}
				_, added := e.Tag.Lookup("added")
				found[key] = !e.Section
				assert.True(t, e.Section || added || isNewKind || slices.Contains(known, key), "%s: want the tag added, as Canonical says", key)
			}
		}
	}
	for _, key := range known {
		assert.True(t, found[key], "%s has gone, which changes the identity of all runs that had it", key)
	}
}

// withNewKeys is a design of another module with a newer key.
type withNewKeys struct {
	stream.VectorConfig
	Before int `yaml:"before"`
	After  int `yaml:"after" added:"7"`
}

func (withNewKeys) Name() string              { return "new-keys" }
func (c withNewKeys) Defaults() stream.Design { return c }

// TestAddedKeys: a key with the tag added is left out if its value makes a program behave as
// without the key.
func TestAddedKeys(t *testing.T) {
	zoo := models.Standard().With(withNewKeys{After: 7})
	text := func(set string) string {
		run, _, err := runconfig.Parse(zoo, "x", []byte("model: {preset: quickstart-transformer}\ntrain: {steps: 1, lr: 1}"), []string{"model.stream={kind: new-keys, d_model: 256, before: 7}", set})
		require.NoError(t, err)
		text, err := run.Canonical()
		require.NoError(t, err)
		return text
	}
	assert.Contains(t, text("model.stream.after=7"), "model.stream.before: 7")
	assert.NotContains(t, text("model.stream.after=7"), "model.stream.after:")
	assert.Contains(t, text("model.stream.after=8"), "model.stream.after: 8")
}
