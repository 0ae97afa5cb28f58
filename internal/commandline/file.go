package commandline

import (
	"io"
	"path/filepath"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
)

// WriteFile writes a file completely or not at all, and makes its folder if necessary.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := (checkpoint.Disk{}).MakeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return checkpoint.WriteFileAtomic(path, write)
}

// WriteFigure draws a figure into an SVG file, as WriteFile does.
func WriteFigure(path string, f figure.Figure) error {
	svg, err := figure.SVG(f)
	if err != nil {
		return err
	}
	return WriteFile(path, func(w io.Writer) error { _, err := w.Write(svg); return err })
}
