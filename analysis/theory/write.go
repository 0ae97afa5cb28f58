package theory

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
)

// Write writes each result into dir, which it makes if need be: its table with notes as NAME.md, its
// table as NAME.csv, and its figure as NAME.svg and NAME.png, or, if it has several, as NAMEa.svg,
// NAMEb.svg and so on. Each file is written whole or not at all.
func Write(dir string, results []Result) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return errors.Wrapf(err, "theory: cannot make folder %s", dir)
	}
	for _, result := range results {
		files, err := filesOf(result)
		if err != nil {
			return err
		}
		for _, f := range files {
			write := func(w io.Writer) error {
				_, err := w.Write(f.content)
				return err
			}
			if err := checkpoint.WriteFileAtomic(filepath.Join(dir, f.name), write); err != nil {
				return err
			}
		}
	}
	return nil
}

// file is a file's name and what is in it.
type file struct {
	name    string
	content []byte
}

func filesOf(r Result) ([]file, error) {
	table := r.Table()
	files := []file{{r.Name() + ".md", []byte(markdown(r))}, {r.Name() + ".csv", []byte(table.CSV())}}
	figures := r.Figures()
	for i, f := range figures {
		stem := r.Name()
		if len(figures) > 1 {
			stem += string(rune('a' + i))
		}
		for _, form := range []struct {
			extension string
			draw      func(figure.Figure) ([]byte, error)
		}{{".svg", figure.SVG}, {".png", figure.PNG}} {
			content, err := form.draw(f)
			if err != nil {
				return nil, errors.Wrapf(err, "theory: %s%s", stem, form.extension)
			}
			files = append(files, file{stem + form.extension, content})
		}
	}
	return files, nil
}

// markdown is a result's table and notes.
func markdown(r Result) string {
	var text strings.Builder
	text.WriteString(r.Table().Markdown())
	for i, note := range r.Notes() {
		if i == 0 {
			text.WriteString("\n")
		}
		text.WriteString("- " + note + "\n")
	}
	return text.String()
}
