package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/pkg/errors"
)

// goPackage is the part of `go list -json` used here.
type goPackage struct {
	Dir, ImportPath, Name              string
	GoFiles, TestGoFiles, XTestGoFiles []string // with these build tags; tests in the package itself, and in PACKAGE_test
	Module                             struct{ Dir string }
}

// list returns the packages that match patterns.
func list(tags string, patterns []string) ([]goPackage, error) {
	out, err := goTool(append([]string{"list", "-tags=" + tags, "-json=Dir,ImportPath,Name,GoFiles,TestGoFiles,XTestGoFiles,Module"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, errors.WithStack(err)
		}
		packages = append(packages, p)
	}
}
