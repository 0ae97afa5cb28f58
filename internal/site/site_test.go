package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestSite: every link in the documents leads somewhere, and every page of docs/ is linked.
func TestSite(t *testing.T) {
	out := t.TempDir()
	pages, err := build(os.DirFS("../.."), out)
	require.NoError(t, err)
	require.Greater(t, pages, 20)
	docs, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	for _, page := range docs {
		require.FileExists(t, filepath.Join(out, "docs", renamed(filepath.Base(page))))
	}
	html, err := os.ReadFile(filepath.Join(out, "docs/student.html"))
	require.NoError(t, err)
	require.Contains(t, string(html), "<title>What is a residual stream? - Residua</title>")
	require.Contains(t, string(html), `<a href="researcher.html">`)
	require.FileExists(t, filepath.Join(out, "docs/stream.svg"))
}

// TestLinks: the targets that links may have, and the errors of broken links.
func TestLinks(t *testing.T) {
	tree := fstest.MapFS{"docs/README.md": {}, "docs/a.md": {Data: []byte("# A\n\n## Part one\n")}, "x/main.go": {}, "LICENSE": {}}
	for link, want := range map[string]string{
		"a.md": `href="a.html"`, "a.md#part-one": `href="a.html#part-one"`, "../LICENSE": `href="` + source + `LICENSE"`,
		"../x": `href="https://github.com/residua-go/residua/tree/main/x"`, "https://example.org/b.md": `href="https://example.org/b.md"`,
	} {
		tree["docs/README.md"].Data = []byte("# Title\n\n[text](" + link + ")\n")
		out := t.TempDir()
		_, err := build(tree, out)
		require.NoError(t, err, link)
		html, err := os.ReadFile(filepath.Join(out, "docs/README.html"))
		require.NoError(t, err)
		require.Contains(t, string(html), want)
	}
	for link, want := range map[string]string{
		"b.md":        "docs/README.md: link to b.md: want a file that is there",
		"a.md#part-2": "docs/README.md: link to docs/a.md#part-2: want one of its headings: a, part-one",
	} {
		tree["docs/README.md"].Data = []byte("[text](" + link + ")\n")
		_, err := build(tree, t.TempDir())
		require.EqualError(t, err, want)
	}
}
