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

// temporary names what is not finished yet and will be called name.
func temporary(name string) string { return fmt.Sprintf("%s%s-%08x", tmpPrefix, name, rand.Uint32()) }

// temporaryName matches what temporary makes; nothing else of such a name is ours.
var temporaryName = regexp.MustCompile(`^\.tmp-.+-[0-9a-f]{8}$`)

// Clean removes what a killed process left in a run folder: temporary files and folders, and an old step folder whose
// replacement was cut short (it goes back to its name if the new one never got it). It does what it can and returns
// the first error. The caller holds the run's [Lock].
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

// removeTemporaries removes what is unfinished in a folder, all that can be; a missing folder has none.
func (d Disk) removeTemporaries(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	first := errors.WithStack(err)
	ours := filepath.Base(folder) == stepsFolder // there earlier programs gave temporaries no random end
	for _, entry := range entries {
		name := entry.Name()
		if !temporaryName.MatchString(name) && !(ours && strings.HasPrefix(name, tmpPrefix)) {
			continue
		}
		first = cmp.Or(first, d.remove(filepath.Join(folder, name)))
	}
	return first
}
