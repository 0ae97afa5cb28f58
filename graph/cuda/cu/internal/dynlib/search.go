package dynlib

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// Search says where to look for a library.
type Search struct {
	What  string                   // its name in errors: "CUDA driver"
	Env   string                   // an environment variable; if it names the library, nowhere else is looked
	Names []string                 // file names, the preferred one first; each is tried in the loader's path, then in Dirs
	Dirs  []string                 // folders, as patterns of filepath.Glob
	CUDA  bool                     // look also where CUDA toolkits and Python packages keep libraries
	Needs func(name string) string // returns the library that the named one needs, to be taken from the same folder; nil: none
	Fix   string                   // how to get the library
}

// Open opens the first library that it finds.
func (s Search) Open() (*Library, error) {
	if path := os.Getenv(s.Env); path != "" {
		library, err := s.file(path)
		return library, errors.Wrapf(err, "no %s: %s names %s", s.What, s.Env, path)
	}
	if s.CUDA {
		s.Dirs = append(s.Dirs, cudaFolders()...)
	}
	var broken []string
	for _, name := range s.Names {
		library, err := Open(name)
		if err == nil {
			return library, nil
		}
		if !strings.HasPrefix(err.Error(), name+": cannot open") {
			broken = append(broken, err.Error())
		}
		for _, path := range s.files(name) {
			if library, err = s.file(path); err == nil {
				return library, nil
			}
			broken = append(broken, err.Error())
		}
	}
	return nil, s.missing(broken)
}

// file opens a file, after opening the library that it needs in the same folder: the loader would
// take that one from elsewhere, where another version may lie.
func (s Search) file(path string) (*Library, error) {
	if dir, name := filepath.Split(path); s.Needs != nil && dir != "" {
		_, _ = Open(dir + s.Needs(name)) // if it fails, the loader will look for it
	}
	return Open(path)
}

// files returns the files with this name in the folders.
func (s Search) files(name string) []string {
	var files []string
	for _, dir := range s.Dirs {
		found, _ := filepath.Glob(filepath.Join(dir, name)) // a bad pattern finds nothing
		files = append(files, found...)
	}
	return files
}

// missing returns an error that says where the library was looked for, and which files could not be
// opened.
func (s Search) missing(broken []string) error {
	places := append([]string{"the loader's path"}, s.Dirs...)
	reason := ""
	if len(broken) > 0 {
		reason = " (could not be opened: " + strings.Join(broken, "; ") + ")"
	}
	return errors.Errorf("no %s: looked for %s in %s%s; %s, or name the library in %s",
		s.What, strings.Join(s.Names, ", "), strings.Join(places, ", "), reason, s.Fix, s.Env)
}
