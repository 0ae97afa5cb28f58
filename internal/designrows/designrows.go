// Package designrows reads testdata/designs, which has one file for each design of a stream: the
// models of it that tests use, and the numbers that they expect. testdata/designs/README.md
// explains the sections.
package designrows

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// Folder returns the path of the files, as seen from any package's tests.
func Folder(t testing.TB) string {
	for dir := "."; ; dir = filepath.Join("..", dir) {
		path := filepath.Join(dir, "testdata", "designs")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		absolute, err := filepath.Abs(dir)
		require.NoError(t, err)
		require.NotEqual(t, filepath.Dir(absolute), absolute, "no folder testdata/designs above this package")
	}
}

// Read returns a section of every design's file, by the design's name. The test fails if a file has
// a key that S lacks, or if a design of the zoo has no file.
func Read[S any](t testing.TB, section string) map[string]S {
	return read[S](t, "", models.Standard().StreamNames(), section)
}

// ReadWrites is like Read, for the kinds of a model's section writes, in the folder writes.
func ReadWrites[S any](t testing.TB, section string) map[string]S {
	kinds := models.NamesOf(models.KindsOf[stream.WritesDesign](models.Standard()))
	return read[S](t, "writes", slices.DeleteFunc(kinds, func(kind string) bool { return kind == stream.NoWrites{}.Name() }), section)
}

func read[S any](t testing.TB, folder string, names []string, section string) map[string]S {
	all := map[string]S{}
	for _, name := range names {
		path := filepath.Join(Folder(t), folder, name+".yaml")
		text, err := os.ReadFile(path)
		require.NoError(t, err, "%s: write testdata/designs/%s", name, filepath.Join(folder, name+".yaml"))
		var sections map[string]ast.Node
		require.NoError(t, yaml.Unmarshal(text, &sections), path)
		var rows S
		if node := sections[section]; node != nil {
			require.NoError(t, yaml.NodeToValue(node, &rows, yaml.Strict()), "%s: %s", path, section)
		}
		all[name] = rows
	}
	return all
}

// Model lists what a model of a design changes in another model, by the keys of the section model
// of a run config. The kind of its stream is the design's name.
type Model map[string]any

// On returns the base with the changes and a stream of the design. The stream keeps the settings of
// the base's stream, such as its width, unless it sets them itself.
func (m Model) On(t testing.TB, design string, base models.Config) models.Config {
	zoo, settings := models.Standard(), map[string]any{"kind": design}
	given, _ := m["stream"].(map[string]any)
	maps.Copy(settings, given)
	m = maps.Clone(m)
	if m == nil {
		m = Model{}
	}
	m["stream"] = settings
	text, err := json.Marshal(m)
	require.NoError(t, err)
	changes, err := zoo.Unmarshal(text)
	require.NoError(t, err, string(text))
	text, err = json.Marshal(base.OnStream(changes.Stream))
	require.NoError(t, err)
	var merged map[string]any
	require.NoError(t, json.Unmarshal(text, &merged))
	delete(m, "stream")
	if attention, ok := m["attention"].(map[string]any); ok {
		maps.Copy(merged["attention"].(map[string]any), attention)
		delete(m, "attention")
	}
	maps.Copy(merged, m)
	text, err = json.Marshal(merged)
	require.NoError(t, err)
	c, err := zoo.Unmarshal(text)
	require.NoError(t, err, string(text))
	return c
}
