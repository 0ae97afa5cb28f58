package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// ReadRuns reads what the folders of runs tell, whether the runs are finished or not. The models are
// called as their folders, or by whole paths where two folders have the same name. A warning says that
// a run was trained on other text than the first.
func ReadRuns(zoo models.Zoo, folders []string) (all []Model, warnings []string, err error) {
	var first *config.Run
	for i, name := range runNames(folders) {
		folder := filepath.Clean(folders[i])
		run, m, err := readRun(zoo, folder)
		if err != nil {
			return nil, nil, err
		}
		m.Name = name
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

func readRun(zoo models.Zoo, folder string) (*config.Run, Model, error) {
	file := filepath.Join(folder, "config.yaml")
	if _, err := os.Stat(file); err != nil {
		return nil, Model{}, experiment.Setupf("%s: want a run's folder, as train writes it, got no config.yaml in it", folder)
	}
	run, _, err := config.Load(zoo, file, nil)
	if err != nil {
		return nil, Model{}, experiment.Setup(err)
	}
	steps, err := trainer.ReadMetrics(folder)
	if err != nil {
		return nil, Model{}, err
	}
	if len(steps) == 0 {
		return nil, Model{}, experiment.Setupf("%s: want a run that has made steps, got no line in metrics.jsonl", folder)
	}
	r := newResult(run, folder, steps)
	r.judge(run)
	var complete Result // written by this package alone, and only it knows the memory
	if found, err := complete.readFile(folder); found && err == nil {
		r.Memory = complete.Memory
	}
	m := newModel(run.Name, file, run)
	m.add(r)
	return run, m, nil
}

// judge says what to know about a run's score: that it diverged, is not at its end, or was last
// evaluated before that.
func (r *Result) judge(run *config.Run) {
	last, scored := r.steps[len(r.steps)-1].Step, -1
	for _, m := range r.steps {
		if r.score(m) {
			scored = m.Step
		}
	}
	r.Diverged = diverged(r.steps, run.Train.MaxBadSteps) || scored >= 0 && trainer.Diverged(float64(r.Loss), run.Model.Vocab)
	var remarks []string
	if last < run.TotalSteps() {
		remarks = append(remarks, fmt.Sprintf("at step %d of %d", last, run.TotalSteps()))
	}
	if scored < 0 {
		remarks = append(remarks, "never evaluated")
	} else if scored < last {
		remarks = append(remarks, fmt.Sprintf("evaluated at step %d", scored))
	}
	r.Remark = strings.Join(remarks, ", ")
}

// diverged tells whether a run's last steps were all not finite, after which it gives up.
func diverged(steps []trainer.Metrics, most int) bool {
	if len(steps) < most {
		return false
	}
	return !slices.ContainsFunc(steps[len(steps)-most:], func(m trainer.Metrics) bool { return !m.Skipped })
}
