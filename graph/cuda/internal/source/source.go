// Package source reads the CUDA sources of package cuda, for the generator that compiles them to
// PTX and for the test that the PTX is up to date.
package source

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/pkg/errors"
)

// File is a file's name within its folder and its text.
type File struct{ Name, Text string }

// Unit is a .cu file and the headers that it includes, directly or indirectly, in the order in
// which they are first included.
type Unit struct {
	File
	Headers []File
}

// Names lists the .cu files of a folder, sorted.
func Names(folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	names := make([]string, 0, len(paths))
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names, err
}

// Read reads a .cu file of a folder with its headers.
func Read(folder, name string) (*Unit, error) {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	u := &Unit{File: File{name, string(text)}}
	return u, u.include(folder, u.File)
}

var includeLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"]+)"`)

// include adds the headers that f includes, directly or indirectly.
func (u *Unit) include(folder string, f File) error {
	for _, match := range includeLine.FindAllStringSubmatch(f.Text, -1) {
		name := match[1]
		if slices.ContainsFunc(u.Headers, func(h File) bool { return h.Name == name }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return errors.Wrapf(err, "%s: #include %q", f.Name, name)
		}
		h := File{name, string(text)}
		u.Headers = append(u.Headers, h)
		if err := u.include(folder, h); err != nil {
			return err
		}
	}
	return nil
}

// Hash returns the SHA-256 of the file and its headers, in hexadecimal. It changes with every byte
// and every name.
func (u *Unit) Hash() string {
	h := sha256.New()
	for _, f := range append([]File{u.File}, u.Headers...) {
		h.Write([]byte(f.Name + "\x00" + f.Text + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Label returns the beginning of the first line of PTX, up to and including this hash of its
// sources.
func Label(hash string) string { return "// sha256 " + hash + " " }
