package sourcecheck

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// phrase matches phrases that make a reader go back to find what they refer to. A sentence with a
// verb says the same: "x returns the size of y", "at most n bytes", "instead of z".
var phrase = regexp.MustCompile(`(?i)\b(is|are|was|were)\s+(that|those)\s+of\b|\bso\s+many\b|\bin\s+the\s+place\s+of\b`)

// unfinished lists folders and files that still have such phrases. Remove what has none left, and
// add nothing.
var unfinished []string

// TestPhrases refuses the phrases in Go comments and in Markdown.
func TestPhrases(t *testing.T) {
	left := map[string]int{} // by entry of unfinished
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"build", "runs"}, name)):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		texts := prose(t, path)
		if texts == nil {
			return nil
		}
		files++
		relative := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		in := slices.IndexFunc(unfinished, func(u string) bool { return relative == u || strings.HasPrefix(relative, u+"/") })
		for _, text := range texts {
			for _, found := range phrase.FindAllString(text, -1) {
				if in >= 0 {
					left[unfinished[in]]++
					continue
				}
				t.Errorf("%s: want a plain sentence, got one with %q", relative, found)
			}
		}
		return nil
	}))
	require.Greater(t, files, 1000)
	for _, u := range unfinished {
		require.Positive(t, left[u], "%s has no such phrase left: remove it from unfinished", u)
	}
}

// prose returns the comments of a Go file, or the text of a Markdown file; nil for any other file.
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
