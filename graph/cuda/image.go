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

// kernelsVariable is an environment variable that names a folder of modules to load instead of the
// program's.
const kernelsVariable = "RESIDUA_KERNELS"

// imageEndings returns the file extensions of a folder's modules, the preferred one first: code for
// a GPU, and PTX.
func imageEndings() []string { return []string{".cubin", ".ptx"} }

// load loads the module: from the folder if it has one, otherwise the program's code for this GPU,
// otherwise PTX, which the driver compiles. If an older driver does not accept the code, it gets
// the PTX.
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

// checkFolder refuses a folder without modules, and one with a module that the program does not
// have, which would otherwise be ignored silently.
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
