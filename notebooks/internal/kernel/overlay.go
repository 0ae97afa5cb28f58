package kernel

import (
	"embed"
	"io/fs"
	"path"

	"github.com/pkg/errors"
)

// overlay are the files of ours that are added to gophernotes' package main (_overlay) and next to
// it (_tables), and to gomacro's packages fast (_fast) and genimport (_genimport).
//
//go:embed _overlay/*.go _tables/*.go _fast/*.go _genimport/*.go
var overlay embed.FS

// addOverlay adds the files of one of its folders to those of a module, in the folder into.
func addOverlay(files map[string]string, folder, into string) error {
	own, err := fs.Sub(overlay, folder)
	if err != nil {
		return errors.Wrap(err, "notebook kernel")
	}
	ours, err := sourceFiles(own, []string{"."})
	for name, text := range ours {
		files[path.Join(into, "residua_"+name)] = text
	}
	return errors.Wrap(err, "notebook kernel")
}
