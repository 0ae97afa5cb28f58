package compare

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/models"
)

// ReadRuns reads what the folders of runs tell, whether the runs are finished or not. The models are
// called as their folders, or by whole paths where two folders have the same name. A warning says that
// a run was trained on other text than the first.
func ReadRuns(zoo models.Zoo, folders []string) (all []Model, warnings []string, err error) {
	var first *config.Run
	for i, name := range runNames(folders) {
		folder := filepath.Clean(folders[i])
		run, r, err := experiment.ReadRun(zoo, folder)
		if err != nil {
			return nil, nil, err
		}
		m := newModel(name, filepath.Join(folder, "config.yaml"), run)
		m.add(r)
		if first == nil {
			first = run
		}
		if !reflect.DeepEqual(first.Data, run.Data) {
			warnings = append(warnings, fmt.Sprintf("%s: its config has another data section than that of %s: losses on different text cannot be compared", folder, folders[0]))
		}
		all = append(all, m)
	}
	return all, warnings, nil
}

// PictureName is a file's name for the picture of runs: their names, and a digest of where they lie, so that other runs have another
// one.
func PictureName(all []Model) string {
	var names, folders []string
	for _, m := range all {
		names = append(names, filepath.Base(m.Name))
		for _, r := range m.Runs {
			folder, err := filepath.Abs(r.Folder)
			if err != nil {
				folder = r.Folder
			}
			folders = append(folders, folder)
		}
	}
	name := unplain.ReplaceAllString(strings.Join(names, "-"), "_")
	return fmt.Sprintf("%.80s-%.4x.svg", name, sha256.Sum256([]byte(strings.Join(folders, "\n"))))
}

// unplain is what does not belong into a file's name.
var unplain = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// runNames are the folders' last elements, or the whole paths if two of these are the same.
func runNames(folders []string) []string {
	names, seen := make([]string, len(folders)), map[string]bool{}
	for i, folder := range folders {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			absolute = folder
		}
		names[i] = filepath.Base(absolute)
		if seen[names[i]] {
			return folders
		}
		seen[names[i]] = true
	}
	return names
}
