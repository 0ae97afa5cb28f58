package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const (
	first  = "docs/README.md"                                   // the page that all others are reached from
	source = "https://github.com/residua-go/residua/blob/main/" // where files are that the site does not have
)

//go:embed page.html
var layout string

// site is the pages being made.
type site struct {
	tree     fs.FS
	out      string
	markdown goldmark.Markdown
	layout   *template.Template
	queue    []string            // pages found so far, in the order in which they are made
	headings map[string][]string // of the pages made
	wanted   []wanted            // links to headings
}

// wanted is a link to a heading, and the page that has it.
type wanted struct{ from, page, heading string }

// build makes the site of a tree of files in a folder and returns the number of its pages.
func build(tree fs.FS, out string) (int, error) {
	parsed, err := template.New("page").Parse(layout)
	if err != nil {
		return 0, err
	}
	s := &site{tree: tree, out: out, queue: []string{first}, headings: map[string][]string{}, layout: parsed,
		markdown: goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))}
	for at := 0; at < len(s.queue); at++ {
		if err := s.page(s.queue[at]); err != nil {
			return 0, errors.Wrap(err, s.queue[at])
		}
	}
	for _, w := range s.wanted {
		if !slices.Contains(s.headings[w.page], w.heading) {
			return 0, errors.Errorf("%s: link to %s#%s: want one of its headings: %s", w.from, w.page, w.heading, strings.Join(s.headings[w.page], ", "))
		}
	}
	return len(s.queue), nil
}

// page writes a page of Markdown as HTML.
func (s *site) page(name string) error {
	content, err := fs.ReadFile(s.tree, name)
	if err != nil {
		return err
	}
	tree := s.markdown.Parser().Parse(text.NewReader(content))
	title := name
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		switch n := n.(type) {
		case *ast.Heading:
			if id, ok := n.AttributeString("id"); ok {
				s.headings[name] = append(s.headings[name], string(id.([]byte)))
			}
			if n.Level == 1 {
				title = string(n.Lines().Value(content))
			}
		case *ast.Link:
			n.Destination, err = s.link(name, string(n.Destination))
		case *ast.Image:
			n.Destination, err = s.link(name, string(n.Destination))
		}
		return ast.WalkContinue, err
	})
	if err != nil {
		return err
	}
	var body, html bytes.Buffer
	if err := s.markdown.Renderer().Render(&body, content, tree); err != nil {
		return err
	}
	up := strings.Repeat("../", strings.Count(name, "/"))
	data := map[string]any{"Title": title, "Home": up + renamed(first), "Body": template.HTML(body.String())}
	if err := s.layout.Execute(&html, data); err != nil {
		return err
	}
	return s.write(renamed(name), html.Bytes())
}

// link returns where a link of a page leads on the site. A page of Markdown joins the site, a
// picture is copied, any other file is linked where its source is.
func (s *site) link(from, to string) ([]byte, error) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return []byte(to), nil
	}
	file, heading, hasHeading := strings.Cut(to, "#")
	name := from
	if file != "" {
		name = path.Join(path.Dir(from), file)
	}
	info, err := fs.Stat(s.tree, name)
	if err != nil {
		return nil, errors.Errorf("link to %s: want a file that is there", to)
	}
	switch ext := path.Ext(name); {
	case ext == ".md":
		if !slices.Contains(s.queue, name) {
			s.queue = append(s.queue, name)
		}
		if hasHeading {
			s.wanted = append(s.wanted, wanted{from, name, heading})
		}
		return []byte(strings.Replace(to, ".md", ".html", 1)), nil
	case slices.Contains([]string{".svg", ".png"}, ext):
		content, err := fs.ReadFile(s.tree, name)
		if err != nil {
			return nil, err
		}
		return []byte(to), s.write(name, content)
	case info.IsDir():
		return []byte(strings.Replace(source, "/blob/", "/tree/", 1) + name), nil
	}
	return []byte(source + name), nil
}

// renamed returns the name of a page's HTML.
func renamed(page string) string { return strings.TrimSuffix(page, ".md") + ".html" }

// write writes a file of the site.
func (s *site) write(name string, content []byte) error {
	to := filepath.Join(s.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
