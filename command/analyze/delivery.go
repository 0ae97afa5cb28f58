package analyze

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/residua-go/residua/analysis/page"
	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
)

// delivery is the flags that say where a report goes.
type delivery struct {
	json bool
	dir  string
}

// pageFile is the page in -out's folder.
const pageFile = "index.html"

func (d *delivery) flags(flags *flag.FlagSet) {
	flags.BoolVar(&d.json, "json", false, "write one JSON document in the place of tables")
	flags.StringVar(&d.dir, "out", "", "write a page ("+pageFile+"), figures (SVG, PNG) and tables (CSV) to folder `DIR`")
}

// prepare makes the folder, before any work.
func (d *delivery) prepare() error {
	if d.dir == "" {
		return nil
	}
	if err := os.MkdirAll(d.dir, 0o777); err != nil {
		return cli.Usagef("-out: want a folder that can be made: %v", err)
	}
	return nil
}

// deliver writes a report to where the flags say.
func (d *delivery) deliver(r *report, out cli.Output) error {
	if d.dir != "" {
		for _, p := range r.parts {
			if err := d.writePart(p); err != nil {
				return err
			}
		}
		if err := d.writePage(r); err != nil {
			return err
		}
	}
	return d.print(r, out)
}

// print writes a report to standard output.
func (d *delivery) print(r *report, out cli.Output) error {
	if d.dir != "" {
		out.Note("the page is " + filepath.Join(d.dir, pageFile))
	}
	if d.json {
		return out.PrintJSON(r)
	}
	return out.Print(r.terminal())
}

// terminal is the report as a terminal shows it.
func (r *report) terminal() string {
	text := r.subtitle() + "\n"
	for _, p := range r.parts {
		table := p.table
		if p.brief != nil {
			table = *p.brief
		}
		text += "\n" + table.Text()
	}
	return text
}

// writePage writes a page of the whole report.
func (d *delivery) writePage(r *report) error {
	p := page.Page{Title: r.title, Subtitle: r.subtitle()}
	for _, part := range r.parts {
		figures := append(slices.Clone(part.figures), part.table)
		p.Sections = append(p.Sections, page.Section{Heading: part.heading, Text: part.text, Figures: figures})
	}
	html, err := p.HTML()
	if err != nil {
		return err
	}
	return d.save(pageFile, html)
}

// wordsShown is how many of a prompt's tokens a report spells out.
const wordsShown = 64

// subtitle says what was looked at.
func (r *report) subtitle() string {
	text := r.about
	if len(r.Tokens) > 0 {
		text += fmt.Sprintf(". %s: %s", tokenCount(len(r.Tokens)), spell(r.Tokens))
	}
	if len(r.Corrupt) > 0 {
		text += ". Corrupt prompt: " + spell(r.Corrupt)
	}
	return text
}

func spell(tokens []token) string {
	var words []string
	for _, t := range tokens[:min(wordsShown, len(tokens))] {
		words = append(words, t.Text)
	}
	if len(tokens) > wordsShown {
		words = append(words, "…")
	}
	return strings.Join(words, " ")
}

// writePart writes NAME.csv, NAME-1.svg, NAME-1.png and so on.
func (d *delivery) writePart(p part) error {
	if err := d.save(p.name+".csv", []byte(p.table.CSV())); err != nil {
		return err
	}
	for i, f := range p.figures {
		stem := fmt.Sprintf("%s-%d", p.name, i+1)
		for suffix, draw := range map[string]func(figure.Figure) ([]byte, error){".svg": figure.SVG, ".png": figure.PNG} {
			picture, err := draw(f)
			if err != nil {
				return err
			}
			if err := d.save(stem+suffix, picture); err != nil {
				return err
			}
		}
	}
	return nil
}

// save replaces a file of the folder, whole.
func (d *delivery) save(name string, content []byte) error {
	return checkpoint.WriteFileAtomic(filepath.Join(d.dir, name), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}
