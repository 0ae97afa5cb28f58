// Package clone finds the source of Residua around a folder.
package clone

import (
	"os"
	"path/filepath"
	"strings"
)

// Module is the path of Residua's module.
const Module = "github.com/residua-go/residua"

// Around returns the absolute path of the folder with Residua's go.mod, dir or one above it, or "".
func Around(dir string) string {
	at, err := filepath.Abs(dir)
	for err == nil {
		if Is(at) {
			return at
		}
		if filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	return ""
}

// Is tells whether a folder has Residua's go.mod.
func Is(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(text), "module "+Module+"\n")
}
