package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// licences returns the licence files of everything that is linked, by name: modules with their
// versions, and Go's library.
func licences() (map[string][]string, error) {
	const work = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{"\t"}}{{$.Dir}}{{end}}{{end}}` +
		`{{if eq .ImportPath "unsafe"}}Go's runtime and library{{"\t"}}{{.Root}}{{"\t"}}{{.Root}}{{end}}`
	found := map[string][]string{}
	for _, build := range []string{ // of a release, and of make gpu-check
		"GOOS=linux GOARCH=amd64 go list -tags=parquet ./cmd/...",
		"GOOS=darwin GOARCH=arm64 go list -tags=parquet ./cmd/...",
		"GOOS=windows GOARCH=amd64 go list -tags=parquet ./cmd/...",
		"GOOS=linux GOARCH=amd64 go list -tags=cuda,parquet ./cmd/...",
		"GOOS=linux GOARCH=amd64 go list -tags=cuda -test ./graph/... ./models ./trainer ./internal/tapemachine",
	} {
		list := exec.Command("env", slices.Insert(strings.Fields(build), 4, "-deps", "-f", work)...)
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, errors.Wrapf(err, "%s", list)
		}
		for line := range strings.Lines(string(out)) {
			columns := strings.Split(strings.TrimSpace(line), "\t")
			if err := look(found, columns[0], columns[1], columns[2]); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// look adds the licence files in a package's folder and in the folders above it, up to the
// module's.
func look(found map[string][]string, work, top, folder string) error {
	for ; len(folder) >= len(top); folder = filepath.Dir(folder) {
		for _, name := range []string{"LICEN[CS]E*", "COPYING*", "NOTICE*", "THIRD_PARTY_LICENSES/*", "licenses/ftl.txt"} {
			files, err := filepath.Glob(filepath.Join(folder, name))
			if err != nil {
				return err
			}
			found[work] = slices.Compact(slices.Sorted(slices.Values(append(found[work], files...))))
		}
	}
	return nil
}
