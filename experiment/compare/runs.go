package compare

import (
	"fmt"
	"path/filepath"
	"reflect"

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
