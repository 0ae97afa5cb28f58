package compare

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
)

// report draws a figure into -svg, or under its name into -out, and prints a text with the file, or
// the result as JSON.
func (c *call) report(name string, f figure.Figure, text string, result any, out cli.Output) error {
	path := c.svg
	if path == "" {
		path = filepath.Join(c.out, name)
	}
	if err := writeSVG(path, f); err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(result)
	}
	return out.Print(text + listed(path))
}

// listed lists the files that were written.
func listed(files ...string) string { return "files:\n  " + strings.Join(files, "\n  ") + "\n" }

// writeSVG draws a figure into a file.
func writeSVG(path string, f figure.Figure) error {
	return writeFile(path, func(w io.Writer) error {
		svg, err := figure.SVG(f)
		if err == nil {
			_, err = w.Write(svg)
		}
		return errors.WithStack(err)
	})
}

// writeFile writes a file into a folder that need not be there yet.
func writeFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return errors.WithStack(err)
	}
	return checkpoint.WriteFileAtomic(path, write)
}
