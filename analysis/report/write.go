package report

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/page"
	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
)

// PageFile is the page in a report's folder.
const PageFile = "index.html"

// Write writes a report into a folder, which it makes if need be: a page of it all, PageFile, each
// part's table as NAME.csv and, with the part's text, as NAME.md, and its figures as NAME-1.svg,
// NAME-1.png, NAME-2.svg and so on. Each file is written whole or not at all.
func (r *Report) Write(dir string) error { return r.write(checkpoint.Disk{}, dir) }

func (r *Report) write(disk checkpoint.Disk, dir string) error {
	if err := disk.MakeFolder(dir); err != nil {
		return errors.Wrap(err, "report")
	}
	save := func(name string, content []byte) error { return disk.WriteFile(filepath.Join(dir, name), content) }
	for _, p := range r.Parts {
		if err := p.write(save); err != nil {
			return err
		}
	}
	for _, f := range r.files {
		if err := f.write(filepath.Join(dir, f.name)); err != nil {
			return err
		}
	}
	html, err := page.Page{Title: r.Title, Subtitle: r.Subtitle(), Sections: r.Sections()}.HTML()
	if err != nil {
		return err
	}
	return save(PageFile, html)
}

// Sections are the parts as sections of a page.
func (r *Report) Sections() (sections []page.Section) {
	for _, part := range r.Parts {
		figures := append(slices.Clone(part.Figures), part.Table)
		sections = append(sections, page.Section{Heading: part.Heading, Text: part.Text, Figures: figures})
	}
	return sections
}

// write saves a part's files.
func (p *Part) write(save func(name string, content []byte) error) error {
	if err := save(p.Name+".csv", []byte(p.Table.CSV())); err != nil {
		return err
	}
	if err := save(p.Name+".md", []byte(p.Table.Markdown()+"\n"+p.Text+"\n")); err != nil {
		return err
	}
	for i, f := range p.Figures {
		for _, form := range []struct {
			extension string
			draw      func(figure.Figure) ([]byte, error)
		}{{".svg", figure.SVG}, {".png", figure.PNG}} {
			name := fmt.Sprintf("%s-%d%s", p.Name, i+1, form.extension)
			picture, err := form.draw(f)
			if err != nil {
				return errors.Wrap(err, name)
			}
			if err := save(name, picture); err != nil {
				return err
			}
		}
	}
	return nil
}
