package compare

import (
	"path/filepath"
	"strings"

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
	if err := cli.WriteFigure(path, f); err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(result)
	}
	return out.Print(text + listed(path))
}

// listed lists the files that were written.
func listed(files ...string) string { return "files:\n  " + strings.Join(files, "\n  ") + "\n" }
