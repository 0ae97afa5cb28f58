// Package configs holds the run configs of this folder, so that a program finds them by
// name wherever it runs: -config quickstart.
package configs

import (
	"embed"
	"strings"

	"github.com/pkg/errors"
)

//go:embed *.yaml
var files embed.FS

// Names lists the configs in alphabetical order, as Read takes them.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // the folder is part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
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
