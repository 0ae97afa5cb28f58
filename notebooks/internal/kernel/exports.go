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
	files, err := exportFiles(ctx, g, paths)
	if err != nil {
		return nil, err
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

// exportFiles compiles packages and what they import; it returns the files that hold what each
// exports, by import path.
func exportFiles(ctx context.Context, g goCommand, paths []string) (map[string]string, error) {
	out, err := g.output(ctx, append([]string{"list", "-export", "-deps", "-json=ImportPath,Export", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := decoder.Decode(&p); err == io.EOF {
			return files, nil
		} else if err != nil {
			return nil, errors.Wrap(err, "notebook kernel: go list")
		}
		if p.Export != "" {
			files[p.ImportPath] = p.Export
		}
	}
}
