package checkpoint

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pkg/errors"
)

// temporary returns a temporary name for something that will be called name.
func temporary(name string) string { return fmt.Sprintf("%s%s-%08x", tmpPrefix, name, rand.Uint32()) }

// temporaryName matches the names that temporary returns.
var temporaryName = regexp.MustCompile(`^\.tmp-.+-[0-9a-f]{8}$`)

// Clean removes what a killed process has left in a run folder: temporary files and folders, and
// old step folders that were being replaced. If the replacement never got its name, the old folder
// gets it back. Clean does as much as it can and returns the first error. The caller must hold the
// run's [Lock].
func (d Disk) Clean(runDir string) error {
	steps, first := listSteps(runDir)
	keep := func(err error) { first = cmp.Or(first, err) }
	for _, s := range steps {
		if dir := StepPath(runDir, s.step); s.aside && exists(dir) {
			keep(d.remove(s.dir))
		} else if s.aside {
			keep(d.rename(s.dir, dir))
		}
	}
	keep(d.removeTemporaries(runDir))
	keep(d.removeTemporaries(stepsOf(runDir)))
	for _, s := range steps {
		keep(d.removeTemporaries(StepPath(runDir, s.step)))
	}
	return errors.Wrapf(first, "cannot remove what an earlier run left in %s", runDir)
}

// removeTemporaries removes as many of a folder's unfinished files as possible; a missing folder
// has none.
func (d Disk) removeTemporaries(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	first := errors.WithStack(err)
	ours := filepath.Base(folder) == stepsFolder // earlier programs gave temporaries in this folder no random end
	for _, entry := range entries {
		name := entry.Name()
		if !temporaryName.MatchString(name) && !(ours && strings.HasPrefix(name, tmpPrefix)) {
			continue
		}
		first = cmp.Or(first, d.remove(filepath.Join(folder, name)))
	}
	return first
}
