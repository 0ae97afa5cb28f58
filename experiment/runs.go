package experiment

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// Run is what a run's folder tells, whether the run is finished or not.
type Run struct {
	Name       string         `json:"model"`
	Folder     string         `json:"folder"`
	Parameters int            `json:"parameters"`
	FLOPs      int            `json:"train_flops"` // a token, forward and backward
	Tokens     int64          `json:"tokens"`      // trained on
	Rate       float64        `json:"lr"`
	Loss       trainer.Number `json:"val_loss"` // of the last evaluation, nats a token; null: none, or diverged
	Bits       trainer.Number `json:"bits_per_byte"`
	TokensPS   float64        `json:"tokens_per_s"`     // median over steps
	Remark     string         `json:"remark,omitempty"` // what else to know about it

	steps []trainer.Metrics
}

// ReadRuns reads the folders of runs. A run is called as its folder, or by the whole path where two folders have the same name. A
// warning says that a run was trained on other text than the first.
func ReadRuns(zoo models.Zoo, folders []string) (all []Run, warnings []string, err error) {
	var first *config.Run
	for i, name := range runNames(folders) {
		folder := filepath.Clean(folders[i])
		run, r, err := readRun(zoo, folder)
		if err != nil {
			return nil, nil, err
		}
		r.Name = name
		if first == nil {
			first = run
		}
		if !reflect.DeepEqual(first.Data, run.Data) {
			warnings = append(warnings, fmt.Sprintf("%s: its config has another data section than that of %s: losses on different text cannot be compared", folder, folders[0]))
		}
		all = append(all, r)
	}
	return all, warnings, nil
}

// runNames are the folders' last elements, or the whole paths if two of these are the same.
func runNames(folders []string) []string {
	names := make([]string, len(folders))
	for i, folder := range folders {
		names[i] = filepath.Base(absolute(folder))
		if slices.Contains(names[:i], names[i]) {
			return folders
		}
	}
	return names
}

// absolute is a folder's whole path.
func absolute(folder string) string {
	if whole, err := filepath.Abs(folder); err == nil {
		return whole
	}
	return folder
}

// readRun reads a folder's config and metrics.
func readRun(zoo models.Zoo, folder string) (*config.Run, Run, error) {
	r := Run{Folder: folder, Loss: trainer.Number(math.NaN()), Bits: trainer.Number(math.NaN())}
	file := filepath.Join(folder, "config.yaml")
	if _, err := os.Stat(file); err != nil {
		return nil, r, Setupf("%s: want a run's folder, as train writes it, got no config.yaml in it", folder)
	}
	run, _, err := config.Load(zoo, file, nil)
	if err != nil {
		return nil, r, Setup(err)
	}
	if r.steps, err = trainer.ReadMetrics(folder); err != nil {
		return nil, r, err
	}
	if len(r.steps) == 0 {
		return nil, r, Setupf("%s: want a run that has made steps, got no line in metrics.jsonl", folder)
	}
	cost := run.Spec().Cost()
	r.Parameters, r.FLOPs, r.Rate = cost.Parameters, cost.TrainFLOPs(), run.Train.LR
	r.judge(run)
	return run, r, nil
}

// judge takes the score from a run's steps, and says what to know about it: that the run diverged, is not at its end, or was last evaluated
// before that.
func (r *Run) judge(run *config.Run) {
	var speeds []float64
	scored, last := -1, r.steps[len(r.steps)-1]
	for _, m := range r.steps {
		speeds = append(speeds, m.TokensPS)
		if m.ValLoss != nil {
			r.Loss, r.Bits, scored = *m.ValLoss, *m.ValBits, m.Step
		}
	}
	slices.Sort(speeds)
	r.Tokens, r.TokensPS = last.Tokens, speeds[len(speeds)/2]
	finite := func(m trainer.Metrics) bool { return !m.Skipped }
	gaveUp := len(r.steps) >= run.Train.MaxBadSteps && !slices.ContainsFunc(r.steps[len(r.steps)-run.Train.MaxBadSteps:], finite)
	var remarks []string
	if gaveUp || scored >= 0 && trainer.Diverged(float64(r.Loss), run.Model.Vocab) {
		remarks = append(remarks, "diverged")
	}
	if last.Step < run.TotalSteps() {
		remarks = append(remarks, fmt.Sprintf("at step %d of %d", last.Step, run.TotalSteps()))
	}
	if scored < 0 {
		remarks = append(remarks, "never evaluated")
	} else if scored < last.Step {
		remarks = append(remarks, fmt.Sprintf("evaluated at step %d", scored))
	}
	r.Remark = strings.Join(remarks, ", ")
}

// RunsTable has a row for each run.
func RunsTable(all []Run) figure.Table {
	t := figure.Table{Align: "lrrrrrrrl", Header: []string{"model", "parameters", "MFLOP a token", "tokens", "lr", "loss", "bits per byte", "tokens/s", ""}}
	for _, r := range all {
		t.Row(r.Name, fmt.Sprintf("%.2fM", float64(r.Parameters)/1e6), fmt.Sprintf("%.1f", float64(r.FLOPs)/1e6), fmt.Sprint(r.Tokens), fmt.Sprintf("%g", r.Rate),
			r.Loss.Text("%.4f"), r.Bits.Text("%.4f"), fmt.Sprintf("%.0f", r.TokensPS), r.Remark)
	}
	return t
}

// LossChart draws the training loss of runs, smoothed, against tokens, or against FLOPs of each run's own model. A single run's values are
// drawn, too.
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
		s := figure.Series{Name: filepath.Base(r.Name)}
		for _, m := range r.steps {
			loss := float64(m.Loss)
			if m.Skipped {
				loss = math.NaN()
			}
			s.X, s.Y = append(s.X, float64(m.Tokens)/unit), append(s.Y, loss)
		}
		s = s.Smoothed()
		if len(all) > 1 {
			s.Raw = nil
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}

// PictureName is a file's name for the picture of runs: their names, and a digest of where they lie, so that other runs have another
// one.
func PictureName(all []Run) string {
	var names, folders []string
	for _, r := range all {
		names, folders = append(names, filepath.Base(r.Name)), append(folders, absolute(r.Folder))
	}
	name := unplain.ReplaceAllString(strings.Join(names, "-"), "_")
	return fmt.Sprintf("%.80s-%.4x.svg", name, sha256.Sum256([]byte(strings.Join(folders, "\n"))))
}

// unplain is what does not belong into a file's name.
var unplain = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
