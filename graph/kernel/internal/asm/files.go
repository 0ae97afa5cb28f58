package asm

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Files maps the names of generated files to their text.
type Files map[string][]byte

// Routines returns a file of Go that maps the names of assembly functions to themselves, for tests.
func Routines(generator, variable string, names []string) ([]byte, error) {
	var w Writer
	w.Header(generator)
	w.Line("package kernel\n\nvar %s = map[string]any{", variable)
	for _, name := range names {
		w.Line("%q: %s,", name, name)
	}
	w.Line("}")
	return w.Source()
}

// Save writes the files into a folder.
func (f Files) Save(folder string) error {
	for name, text := range f {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Stale lists the files that are missing from a folder or differ there, ignoring line endings.
func (f Files) Stale(folder string) []string {
	var stale []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(f[name], bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))) {
			stale = append(stale, name)
		}
	}
	return stale
}

// Main is the main function of a generator: it writes the files into the current folder.
func Main(generate func() (Files, error)) {
	files, err := generate()
	if err == nil {
		err = files.Save(".")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}
