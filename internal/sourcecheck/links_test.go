package sourcecheck

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// linked returns the pages of Markdown that can be reached from docs/README.md. A link to a file
// that is not there, or to a heading that a page does not have, is an error.
func linked(tree fs.FS) (pages []string, err error) {
	pages = []string{"docs/README.md"}
	headings := map[string][]string{}
	wanted := map[[2]string]string{} // page and heading -> a page with a link to it
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	for at := 0; at < len(pages); at++ {
		from := pages[at]
		content, err := fs.ReadFile(tree, from)
		if err != nil {
			return nil, err
		}
		follow := func(to string) error {
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				return nil
			}
			file, heading, hasHeading := strings.Cut(to, "#")
			name := from
			if file != "" {
				name = path.Join(path.Dir(from), file)
			}
			if _, err := fs.Stat(tree, name); err != nil {
				return errors.Errorf("%s: link to %s: want a file that is there", from, to)
			}
			if path.Ext(name) == ".md" && !slices.Contains(pages, name) {
				pages = append(pages, name)
			}
			if hasHeading && path.Ext(name) == ".md" {
				wanted[[2]string{name, heading}] = from
			}
			return nil
		}
		err = ast.Walk(markdown.Parser().Parse(text.NewReader(content)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			switch n := n.(type) {
			case *ast.Heading:
				if id, ok := n.AttributeString("id"); ok && entering {
					headings[from] = append(headings[from], string(id.([]byte)))
				}
			case *ast.Link:
				return ast.WalkContinue, follow(string(n.Destination))
			case *ast.Image:
				return ast.WalkContinue, follow(string(n.Destination))
			}
			return ast.WalkContinue, nil
		})
		if err != nil {
			return nil, err
		}
	}
	for w, from := range wanted {
		if !slices.Contains(headings[w[0]], w[1]) {
			return nil, errors.Errorf("%s: link to %s#%s: want one of its headings: %s", from, w[0], w[1], strings.Join(headings[w[0]], ", "))
		}
	}
	return pages, nil
}

// TestLinks: every link in the documents leads somewhere, and every page of docs/ is linked.
func TestLinks(t *testing.T) {
	atRoot(t)
	pages, err := linked(os.DirFS("."))
	require.NoError(t, err)
	docs, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	require.Greater(t, len(docs), 20)
	for _, page := range docs {
		require.Contains(t, pages, filepath.ToSlash(page))
	}
}

// TestBrokenLinks: the targets that links may have, and the errors of broken links.
func TestBrokenLinks(t *testing.T) {
	tree := fstest.MapFS{"docs/README.md": {}, "docs/a.md": {Data: []byte("# A\n\n## Part one\n")}, "x/main.go": {}, "LICENSE": {}}
	for link, want := range map[string]string{
		"a.md": "", "a.md#part-one": "", "../LICENSE": "", "../x": "", "https://example.org/b.md": "", "#title": "",
		"b.md":        "docs/README.md: link to b.md: want a file that is there",
		"a.md#part-2": "docs/README.md: link to docs/a.md#part-2: want one of its headings: a, part-one",
	} {
		tree["docs/README.md"].Data = []byte("# Title\n\n[text](" + link + ")\n")
		_, err := linked(tree)
		if want == "" {
			require.NoError(t, err, link)
		} else {
			require.EqualError(t, err, want)
		}
	}
}
