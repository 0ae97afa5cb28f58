// Package clone finds the source of Residua around a folder.
package clone

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Module is the path of Residua's module.
const Module = "github.com/residua-go/residua"

// Around returns the absolute path of the folder with Residua's go.mod: dir or one above it, or the
// folder by which a go.mod there replaces Residua; or "".
func Around(dir string) string {
	at, err := filepath.Abs(dir)
	for err == nil {
		for _, root := range []string{at, replacement(at)} {
			if Is(root) {
				return root
			}
		}
		if filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	return ""
}

// replaced matches a replacement of Residua by a folder in a go.mod: its path, in quotes or not.
var replaced = regexp.MustCompile(`(?m)^(?:\s*|replace\s+)` + regexp.QuoteMeta(Module) + `(?:\s+v\S+)?\s+=>\s+(?:"([^"]+)"|(\S+))\s*(?://.*)?$`)

// replacement returns the folder by which a go.mod in dir replaces Residua, or dir.
func replacement(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "go.mod")) // mostly there is none
	found := replaced.FindStringSubmatch(string(text))
	if found == nil {
		return dir
	}
	path := filepath.FromSlash(found[1] + found[2])
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Is tells whether a folder has Residua's go.mod.
func Is(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	first, _, _ := strings.Cut(string(text), "\n")
	return err == nil && strings.TrimSuffix(first, "\r") == "module "+Module // git on Windows may end lines by \r\n
}
