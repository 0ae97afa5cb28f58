//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// kernelsVariable, in the environment, names a folder of modules that are loaded instead of the program's.
const kernelsVariable = "RESIDUA_KERNELS"

// imageEndings are those of a folder's modules, the preferred first: code for a GPU, and PTX.
func imageEndings() []string { return []string{".cubin", ".ptx"} }

// load loads the module: that of the folder, if it has one, else the program's code for this GPU, else PTX, which the driver compiles.
// A driver that does not know the code, an older one, gets the PTX, too.
func (l *loadable) load() error {
	for _, ending := range imageEndings() {
		if l.folder == "" {
			break
		}
		path := filepath.Join(l.folder, l.name+ending)
		text, err := os.ReadFile(path)
		switch {
		case os.IsNotExist(err):
			continue
		case err == nil:
			l.handle, err = cu.LoadData(string(text))
		}
		return errors.Wrapf(err, "%s: %s", kernelsVariable, path)
	}
	code, err := l.cubin(l.major)
	if err != nil {
		return err
	}
	if code != "" {
		if l.handle, err = cu.LoadData(code); err == nil {
			return nil
		}
	}
	ptx, err := l.ptx()
	if err != nil {
		return err
	}
	l.handle, err = cu.LoadData(ptx)
	return errors.Wrapf(err, "PTX of %s.cu", l.name)
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
