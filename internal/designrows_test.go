package internal_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/models"
)

// TestFilesAreOfStreams: each file belongs to a stream of the zoo, and has only sections that
// README.md explains; each stream has its presets and analyses in its file.
func TestFilesAreOfStreams(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(designrows.Folder(t), "README.md"))
	require.NoError(t, err)
	streams := models.Standard().StreamNames()
	files, err := filepath.Glob(filepath.Join(designrows.Folder(t), "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, len(streams))
	for _, path := range files {
		assert.True(t, slices.Contains(streams, strings.TrimSuffix(filepath.Base(path), ".yaml")), "%s: no stream has this name", path)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var sections map[string]any
		require.NoError(t, yaml.Unmarshal(text, &sections), path)
		for section := range sections {
			assert.Contains(t, string(readme), "\n| `"+section+"` |", "%s: unknown section", path)
		}
		for _, section := range []string{"presets", "analysis"} {
			assert.Contains(t, sections, section, path)
		}
	}
}

// TestModelOn: keys that a model sets replace the base's keys; unknown keys and settings of another
// stream fail.
func TestModelOn(t *testing.T) {
	base := models.Transformer(2, 8, 16, 2)
	other := models.Standard().Streams()[3]
	c := designrows.Model{"bias": true, "attention": map[string]any{"positions": "rope"}}.On(t, other.Name(), base)
	want := base.OnStream(other)
	want.Bias, want.Attention.Positions = true, "rope"
	assert.Equal(t, want, c)
	for _, bad := range []designrows.Model{{"biases": true}, {"stream": map[string]any{"no_such_setting": 3}}} {
		assert.True(t, fails(func(t testing.TB) { bad.On(t, other.Name(), base) }), "%v", bad)
	}
	assert.True(t, fails(func(t testing.TB) { designrows.Read[map[string]struct{ Parameter string }](t, "presets") }), "an unknown key")
}

// failing is a test that records whether it has failed.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Name() string          { return "failing" }
func (f *failing) Errorf(string, ...any) { f.failed = true }
func (f *failing) FailNow()              { panic(f) }

// fails tells whether a test fails.
func fails(test func(t testing.TB)) (failed bool) {
	f := &failing{}
	defer func() { failed = recover() != nil && f.failed }()
	test(f)
	return
}
