//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// kernelsVariable, in the environment, names a folder of modules that are loaded instead of the program's.
const kernelsVariable = "RESIDUA_KERNELS"

// imageEndings are those of a folder's modules, the preferred first: code for a GPU, and PTX.
func imageEndings() []string { return []string{".cubin", ".ptx"} }

// image returns what the driver is to load, PTX or code for a GPU, and what an error calls it: that of the folder, where it has the module,
// else the program's PTX.
func (m module) image(folder string) (code, name string, err error) {
	for _, ending := range imageEndings() {
		if folder == "" {
			break
		}
		path := filepath.Join(folder, m.name+ending)
		if text, err := os.ReadFile(path); !os.IsNotExist(err) {
			return string(text), path, errors.Wrap(err, kernelsVariable)
		}
	}
	code, err = m.ptx()
	return code, "PTX of " + m.name + ".cu", err
}

// checkFolder refuses a folder without modules, and one with a module that the program does not have: it would be left out silently.
func checkFolder(folder string) error {
	if folder == "" {
		return nil
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return errors.Wrapf(err, "%s: want a folder of modules, as norm.cubin or norm.ptx, got %q", kernelsVariable, folder)
	}
	found := 0
	for _, file := range files {
		ending := filepath.Ext(file.Name())
		if !slices.Contains(imageEndings(), ending) {
			continue
		}
		found++
		name := strings.TrimSuffix(file.Name(), ending)
		if !slices.ContainsFunc(modules, func(m module) bool { return m.name == name }) {
			return errors.Errorf("%s: want modules named as the program's, as norm%s of norm.cu, got %s", kernelsVariable, ending, filepath.Join(folder, file.Name()))
		}
	}
	if found == 0 {
		return errors.Errorf("%s: want a folder of modules, as norm.cubin or norm.ptx, got %q, which has none", kernelsVariable, folder)
	}
	return nil
}
