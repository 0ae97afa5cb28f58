package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"

	"github.com/pkg/errors"
)

// loadPackages returns what packages export, as their compiler wrote it.
func loadPackages(ctx context.Context, g goCommand, paths []string) ([]*types.Package, error) {
	listed, err := listPackages(ctx, g, paths)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, p := range listed {
		if p.Export != "" {
			files[p.ImportPath] = p.Export
		}
	}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, there := files[path]
		if !there {
			return nil, errors.Errorf("no export data of %q", path)
		}
		return os.Open(file)
	})
	var packages []*types.Package
	for _, path := range paths {
		p, err := compiled.Import(path)
		if err != nil {
			return nil, errors.Wrapf(err, "notebook kernel: package %s", path)
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// listedPackage is what go list tells of a package.
type listedPackage struct {
	ImportPath string
	Export     string // the file that holds what it exports
}

// listPackages asks go list for packages and all that they import, compiled.
func listPackages(ctx context.Context, g goCommand, paths []string) ([]listedPackage, error) {
	out, err := g.output(ctx, append([]string{"list", "-json=ImportPath,Export", "-export", "-deps", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var listed []listedPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := decoder.Decode(&p); err == io.EOF {
			return listed, nil
		} else if err != nil {
			return nil, errors.Wrap(err, "notebook kernel: go list")
		}
		listed = append(listed, p)
	}
}
