package kernel

import (
	"embed"
	"io/fs"
	"path"

	"github.com/pkg/errors"
)

// overlay are the files of ours that are added to gophernotes' package main.
//
//go:embed _overlay/*.go
var overlay embed.FS

// addOverlay adds them to its files.
func addOverlay(files map[string]string) error {
	names, err := fs.Glob(overlay, "_overlay/*.go")
	if err != nil {
		return errors.Wrap(err, "notebook kernel")
	}
	for _, name := range names {
		text, err := overlay.ReadFile(name)
		if err != nil {
			return errors.Wrap(err, "notebook kernel")
		}
		files["residua_"+path.Base(name)] = string(text)
	}
	return nil
}
