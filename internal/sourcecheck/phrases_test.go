package sourcecheck

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// phrase matches phrases that make a reader go back to find what they refer to. A sentence with a
// verb says the same: "x returns the size of y", "at most n bytes", "instead of z".
var phrase = regexp.MustCompile(`(?i)\b(is|are|was|were)\s+(that|those)\s+of\b|\bso\s+many\b|\bin\s+the\s+place\s+of\b`)

// TestPhrases refuses the phrases in Go comments and in Markdown.
func TestPhrases(t *testing.T) {
	atRoot(t)
	for _, path := range files(t, ".go", ".md") {
		for _, text := range prose(t, path) {
			for _, found := range phrase.FindAllString(text, -1) {
				t.Errorf("%s: want a plain sentence, got one with %q", path, found)
			}
		}
	}
}

// prose returns the comments of a Go file, or the text of a Markdown file.
func prose(t *testing.T, path string) []string {
	switch filepath.Ext(path) {
	case ".md":
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return []string{string(text)}
	case ".go":
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		texts := []string{}
		for _, group := range f.Comments {
			texts = append(texts, group.Text())
		}
		return texts
	}
	return nil
}

// TestPhrase: line breaks and upper case do not hide a phrase.
func TestPhrase(t *testing.T) {
	for _, text := range []string{"x is that of y", "They are\nthose of y", "So many bytes", "in the\n  place of y", "was that of", "were those of"} {
		require.True(t, phrase.MatchString(text), text)
	}
	for _, text := range []string{"x is the size of y", "that of y", "so much", "in place of y", "it is those that", "also many"} {
		require.False(t, phrase.MatchString(text), text)
	}
}
