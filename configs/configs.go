// Package configs holds the YAML files of this folder, run configs that package runconfig reads, so
// that a program finds them by name wherever it runs: -config quickstart, or paper/table9-rmt-305m
// for one in a subfolder.
package configs

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/pkg/errors"
)

//go:embed *.yaml paper/*.yaml
var files embed.FS

// Names lists the configs in alphabetical order, as Read takes them. A config in a subfolder
// has the folder in its name, with a slash on every system.
func Names() []string {
	var names []string
	err := fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, strings.TrimSuffix(path, ".yaml"))
		}
		return err
	})
	if err != nil {
		return nil // the folder is part of the program
	}
	return names
}

// Read returns a config's text, and its file's name in the source tree, for messages:
// configs/quickstart.yaml.
func Read(name string) (file string, text []byte, err error) {
	file = name + ".yaml"
	text, err = files.ReadFile(file)
	return "configs/" + file, text, errors.WithStack(err)
}
