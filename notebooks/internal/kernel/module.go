package kernel

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// sums are go.sum lines of what the kernel needs beyond our own module: gophernotes, gomacro and
// their dependencies. The checksum database has no entry for this version of gomacro.
//
//go:embed go.sum
var sums string

// requires lists versions of modules that work with Go 1.26. golang.org/x/tools before v0.38.0 does
// not compile; if our module needs a newer version, that one is used.
const requires = `
	github.com/go-zeromq/zmq4 v0.14.1
	github.com/gofrs/uuid v4.2.0+incompatible
	github.com/residua-go/residua v0.0.0
	golang.org/x/tools v0.38.0
`

// moduleFiles are go.mod and go.sum of the kernel's modules.
type moduleFiles struct {
	kernel, gomacro, download map[string]string
}

// newModuleFiles returns the files of the modules in dir/kernel, dir/gomacro and dir/download, for
// our packages at root. They set gotypesalias=0, because gomacro does not know alias types.
func newModuleFiles(root, dir string) (moduleFiles, error) {
	ours, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return moduleFiles{}, errors.Wrap(err, "notebook kernel")
	}
	ourSums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return moduleFiles{}, errors.Wrap(err, "notebook kernel")
	}
	version, err := goVersion(string(ours))
	if err != nil {
		return moduleFiles{}, err
	}
	residua, err := filepath.Rel(filepath.Join(dir, "kernel"), root)
	if err != nil {
		return moduleFiles{}, errors.Wrap(err, "notebook kernel")
	}
	gophernotes, gomacro := gophernotes(), gomacro()
	header := func(module string) string { return fmt.Sprintf("module %s\n\ngo %s\n", module, version) }
	allSums := mergeSums(string(ourSums), sums)
	return moduleFiles{
		kernel: map[string]string{"go.sum": allSums, "go.mod": header(gophernotes.module) +
			fmt.Sprintf("\ngodebug gotypesalias=0\n\nrequire (\n\t%s %s%s)\n", gomacro.module, gomacro.version, requires) +
			fmt.Sprintf("\nreplace (\n\tgithub.com/residua-go/residua => %q\n\t%s => ../gomacro\n)\n", filepath.ToSlash(residua), gomacro.module)},
		// gomacro's own requirements are too old; the kernel's go.mod lists what it needs.
		gomacro: map[string]string{"go.mod": header(gomacro.module) +
			"\nrequire (\n\tgithub.com/mattn/go-runewidth v0.0.15\n\tgithub.com/peterh/liner v1.2.2\n\tgolang.org/x/tools v0.38.0\n)\n"},
		download: map[string]string{"go.sum": sums, "go.mod": header("download")},
	}, nil
}

// goVersion reads the go line of a go.mod.
func goVersion(mod string) (string, error) {
	for line := range strings.Lines(mod) {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			return strings.TrimSpace(version), nil
		}
	}
	return "", errors.New("notebook kernel: want a go line in go.mod, found none")
}

// mergeSums returns the lines of both files, each once, sorted.
func mergeSums(a, b string) string {
	all := slices.Sorted(strings.Lines(strings.TrimRight(a, "\n") + "\n" + strings.TrimRight(b, "\n") + "\n"))
	return strings.Join(slices.Compact(all), "")
}
