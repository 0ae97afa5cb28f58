package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// compareRuns is compare RUN...: it trains nothing.
func (c *call) compareRuns(ctx context.Context, out cli.Output) error {
	if err := c.checkAxis(); err != nil {
		return err
	}
	var all []standing
	var first *config.Run
	for i, name := range runNames(c.folders) {
		folder := filepath.Clean(c.folders[i])
		run, s, err := readRun(c.zoo, folder)
		if err != nil {
			return err
		}
		s.Model = name
		if first == nil {
			first = run
		}
		if !reflect.DeepEqual(first.Data, run.Data) {
			out.Warn(fmt.Sprintf("%s: its config has another data section than that of %s: losses on different text do not compare", folder, c.folders[0]))
		}
		all = append(all, s)
	}
	return c.show(all, out)
}

// runNames are the folders' last elements, or the whole paths if two of these are the same.
func runNames(folders []string) []string {
	names, seen := make([]string, len(folders)), map[string]bool{}
	whole := false
	for i, folder := range folders {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			absolute = folder
		}
		names[i] = filepath.Base(absolute)
		whole = whole || seen[names[i]]
		seen[names[i]] = true
	}
	if whole {
		return folders
	}
	return names
}

// readRun reads what a run's folder tells, whether the run is finished or not.
func readRun(zoo models.Zoo, folder string) (*config.Run, standing, error) {
	file := filepath.Join(folder, "config.yaml")
	if _, err := os.Stat(file); err != nil {
		return nil, standing{}, cli.Usagef("%s: want a run's folder, as train writes it, got no config.yaml in it", folder)
	}
	run, _, err := config.Load(zoo, file, nil)
	if err != nil {
		return nil, standing{}, cli.Usage(err)
	}
	steps, err := trainer.ReadMetrics(folder)
	if err != nil {
		return nil, standing{}, err
	}
	if len(steps) == 0 {
		return nil, standing{}, cli.Usagef("%s: want a run that has made steps, got no line in metrics.jsonl", folder)
	}
	cost := run.Spec().Cost()
	done := &outcome{Rate: run.Train.LR, Loss: number(math.NaN()), Bits: number(math.NaN()), Folder: folder, Memory: plannedBytes(folder), curve: steps}
	done.measure(steps)
	done.judge(run)
	s := standing{Model: run.Name, Config: file, Parameters: cost.Parameters, FLOPs: cost.TrainFLOPs(), Best: done, Runs: []*outcome{done}}
	return run, s, nil
}

// judge says what a reader of a run's score should know: that it diverged, is not at its end, or
// was last scored before that.
func (o *outcome) judge(run *config.Run) {
	steps := o.curve
	last, scored := steps[len(steps)-1].Step, -1
	for _, m := range steps {
		if m.ValLoss != nil {
			scored, o.Loss, o.Bits = m.Step, number(*m.ValLoss), number(*m.ValBits)
		}
	}
	o.Diverged = diverged(steps, run.Train.MaxBadSteps) || scored >= 0 && trainer.Diverged(float64(o.Loss), run.Model.Vocab)
	var remarks []string
	if last < run.TotalSteps() {
		remarks = append(remarks, fmt.Sprintf("at step %d of %d", last, run.TotalSteps()))
	}
	if scored < 0 {
		remarks = append(remarks, "never evaluated")
	} else if scored < last {
		remarks = append(remarks, fmt.Sprintf("evaluated at step %d", scored))
	}
	o.Remark = strings.Join(remarks, ", ")
}

// plannedBytes is what compare wrote about a run's memory, 0 if the run is none of its own.
func plannedBytes(folder string) int {
	var o outcome
	text, err := os.ReadFile(filepath.Join(folder, outcomeFile))
	if err != nil || json.Unmarshal(text, &o) != nil {
		return 0
	}
	return o.Memory
}
