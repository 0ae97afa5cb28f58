package experiment

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// Run holds the results in a run's folder, whether the run is finished or not.
type Run struct {
	Folder string `json:"folder"`
	Remark string `json:"remark,omitempty"` // a remark on its score
	Record

	run   *runconfig.Run
	steps []trainer.Metrics
}

// ReadRuns reads the folders of runs. It warns about a run that was trained on another text
// than the first.
func ReadRuns(zoo models.Zoo, folders []string) (all []Run, warnings []string, err error) {
	var first *runconfig.Run
	for _, folder := range folders {
		r := Run{Folder: filepath.ToSlash(filepath.Clean(folder))}
		run, err := r.read(zoo)
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first = run
		}
		if dataKey(first) != dataKey(run) {
			warnings = append(warnings, fmt.Sprintf("%s: its config has another data section than that of %s: losses on different text cannot be compared", r.Folder,
				folders[0]))
		}
		all = append(all, r)
	}
	return all, warnings, nil
}

// read reads the folder's config and metrics.
func (r *Run) read(zoo models.Zoo) (*runconfig.Run, error) {
	file := filepath.Join(r.Folder, "config.yaml")
	if _, err := os.Stat(file); err != nil {
		return nil, setupErrorf("%s: want a run's folder, as train writes it, got no config.yaml in it", r.Folder)
	}
	run, _, err := runconfig.Load(zoo, file, nil)
	if err != nil {
		return nil, setupError(err)
	}
	steps, err := trainer.ReadMetrics(r.Folder)
	if err != nil {
		return nil, err
	}
	if len(steps) == 0 {
		return nil, setupErrorf("%s: want a run that has made steps, got no line in metrics.jsonl", r.Folder)
	}
	r.Record, r.run, r.steps = newRecord(run), run, steps
	r.add(steps, run.StepTokens())
	r.judge(run, steps)
	return run, nil
}

// judge takes the last score from a run's steps and adds a remark if the run diverged, is not
// finished, or was last evaluated before its last step.
func (r *Run) judge(run *runconfig.Run, steps []trainer.Metrics) {
	var remarks []string
	remark := func(when bool, format string, args ...any) {
		if when {
			remarks = append(remarks, fmt.Sprintf(format, args...))
		}
	}
	last, scored := steps[len(steps)-1].Step, 0
	for _, m := range steps {
		if m.ValLoss != nil {
			r.Loss, r.Bits, scored = *m.ValLoss, *m.ValBits, m.Step
		}
	}
	made := func(m trainer.Metrics) bool { return !m.Skipped }
	gaveUp := len(steps) >= run.Train.MaxBadSteps && !slices.ContainsFunc(steps[max(0, len(steps)-run.Train.MaxBadSteps):], made)
	remark(gaveUp || scored > 0 && trainer.Diverged(float64(r.Loss), run.Model.Vocab), "diverged")
	remark(last < run.TotalSteps(), "at step %d of %d", last, run.TotalSteps())
	remark(scored == 0, "never evaluated")
	remark(scored > 0 && scored < last, "evaluated at step %d", scored)
	r.Remark = strings.Join(remarks, ", ")
}

// RunsTable has a row for each run.
func RunsTable(all []Run) figure.Table {
	t := figure.NewTable("", "lrrrrrrrl", "run", "parameters", "MFLOP a token", "tokens", "lr", "loss", "bits per byte", "tokens/s", "")
	for _, r := range all {
		t.Row(r.Folder, fmt.Sprintf("%.2fM", float64(r.Parameters)/1e6), fmt.Sprintf("%.1f", float64(r.FLOPs)/1e6), fmt.Sprint(r.Tokens), fmt.Sprintf("%g", r.Rate),
			r.Loss.Text("%.4f"), r.Bits.Text("%.4f"), fmt.Sprintf("%.0f", float64(r.Tokens)/r.Seconds), r.Remark)
	}
	return t
}

// LossChart draws the training loss of runs over tokens, or over the FLOPs of each run's own model.
func LossChart(all []Run, flops bool) figure.Lines {
	longest := int64(0)
	for _, r := range all {
		longest = max(longest, r.Tokens)
	}
	unit, name := figure.Count("tokens", float64(longest))
	chart := figure.Lines{XLabel: name, YLabel: "training loss (nats a token)"}
	for _, r := range all {
		if flops {
			unit, chart.XLabel = 1e12/float64(r.FLOPs), "TFLOP"
		}
		chart.Series = append(chart.Series, r.curve(r.Folder, 1/unit))
	}
	return chart
}

// PictureName returns a file name for the picture of runs: their folders' names, and a digest of
// their paths, so that other runs get another name.
func PictureName(all []Run) string {
	var folders []string
	for _, r := range all {
		folders = append(folders, r.Folder)
	}
	name := strings.Join(folders, "-")
	return fmt.Sprintf("%.80s-%.4x.svg", strings.Trim(unplain.ReplaceAllString(name, "_"), "_."), sha256.Sum256([]byte(name)))
}

// unplain matches characters that do not belong in a file name.
var unplain = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
