package experiment

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer"
)

// Result is what a training run has reached.
type Result struct {
	Rate     float64        `json:"lr"`
	Tokens   int64          `json:"tokens"`        // trained on
	Loss     trainer.Number `json:"val_loss"`      // at the end, nats a token; null: diverged
	Bits     trainer.Number `json:"bits_per_byte"` // of the validation text
	TokensPS float64        `json:"tokens_per_s"`  // median over steps
	Memory   int            `json:"planned_bytes"` // peak as planned: activations, buffers, weights, gradients, moments; 0: not known
	Folder   string         `json:"folder"`
	Diverged bool           `json:"diverged"`
	Remark   string         `json:"remark,omitempty"` // what else to know about it

	Steps []trainer.Metrics `json:"-"` // of metrics.jsonl
}

func newResult(run *config.Run, folder string, steps []trainer.Metrics) *Result {
	nan := trainer.Number(math.NaN())
	r := &Result{Rate: run.Train.LR, Loss: nan, Bits: nan, Folder: folder, Steps: steps}
	var speeds []float64
	for _, m := range steps {
		speeds = append(speeds, m.TokensPS)
	}
	if len(steps) == 0 {
		return r
	}
	slices.Sort(speeds)
	last := steps[len(steps)-1]
	r.Tokens, r.TokensPS = last.Tokens, speeds[len(speeds)/2]
	r.score(last)
	return r
}

// score takes the validation loss of a step, if it has one.
func (r *Result) score(m trainer.Metrics) bool {
	if m.ValLoss == nil {
		return false
	}
	r.Loss, r.Bits = trainer.Number(*m.ValLoss), trainer.Number(*m.ValBits)
	return true
}

// Better tells whether a run ended at a lower loss; one that diverged never did.
func (r *Result) Better(than *Result) bool {
	return r.Loss.Finite() && (!than.Loss.Finite() || r.Loss < than.Loss)
}

// ReadRun reads what a run's folder tells, whether the run is finished or not.
func ReadRun(zoo models.Zoo, folder string) (*config.Run, *Result, error) {
	file := filepath.Join(folder, "config.yaml")
	if _, err := os.Stat(file); err != nil {
		return nil, nil, Setupf("%s: want a run's folder, as train writes it, got no config.yaml in it", folder)
	}
	run, _, err := config.Load(zoo, file, nil)
	if err != nil {
		return nil, nil, Setup(err)
	}
	steps, err := trainer.ReadMetrics(folder)
	if err != nil {
		return nil, nil, err
	}
	if len(steps) == 0 {
		return nil, nil, Setupf("%s: want a run that has made steps, got no line in metrics.jsonl", folder)
	}
	r := newResult(run, folder, steps)
	r.judge(run)
	var complete Result // written by this package alone, and only it knows the memory
	if found, err := complete.readFile(folder); found && err == nil {
		r.Memory = complete.Memory
	}
	return run, r, nil
}

// judge says what to know about a run's score: that it diverged, is not at its end, or was last
// evaluated before that.
func (r *Result) judge(run *config.Run) {
	last, scored := r.Steps[len(r.Steps)-1].Step, -1
	for _, m := range r.Steps {
		if r.score(m) {
			scored = m.Step
		}
	}
	r.Diverged = diverged(r.Steps, run.Train.MaxBadSteps) || scored >= 0 && trainer.Diverged(float64(r.Loss), run.Model.Vocab)
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
