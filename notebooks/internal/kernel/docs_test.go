package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocsTellDeclarationsAndComments(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(`// Package a is small.
package a

// Limits of a.
const (
	Low  = 1 // the lowest
	High = 9
)

// Shape is a shape.
type Shape struct {
	// Name is its name.
	Name string
	X, Y int // where
	none int
}

// Area is its area.
func (s *Shape) Area(scale float64) float64 { return scale }

// New makes one.
func New(name string) *Shape { return nil }

// Speaker speaks.
type Speaker interface {
	// Speak says something.
	Speak() string
}

func hidden() {}
`), 0o644))
	got := docs{}
	require.NoError(t, got.add(listedPackage{ImportPath: "example.org/a", Dir: dir, GoFiles: []string{"a.go"}}))
	for name, want := range map[string]string{
		"":               "Package a is small.",
		".Low":           "const Low = 1\n\nthe lowest",
		".High":          "const High = 9\n\nLimits of a.",
		".New":           "func New(name string) *Shape\n\nNew makes one.",
		".Shape.Area":    "func (s *Shape) Area(scale float64) float64\n\nArea is its area.",
		".Shape.Name":    "field Name string\n\nName is its name.",
		".Shape.Y":       "field Y int\n\nwhere",
		".Speaker.Speak": "method Speak func() string\n\nSpeak says something.",
	} {
		require.Equal(t, want, got["example.org/a"+name], name)
	}
	require.True(t, strings.HasPrefix(got["example.org/a.Shape"], "type Shape struct {\n"))
	require.True(t, strings.HasSuffix(got["example.org/a.Shape"], "}\n\nShape is a shape."), got["example.org/a.Shape"])
	require.NotContains(t, got, "example.org/a.hidden")
	require.NotContains(t, got["example.org/a.Shape"], "none")
	require.Error(t, docs{}.add(listedPackage{ImportPath: "example.org/b", Dir: dir, GoFiles: []string{"none.go"}}))
}
