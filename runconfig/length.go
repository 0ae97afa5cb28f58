package runconfig

import (
	"time"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
)

// Stop is the section train.stop: it ends a run before its last step. The schedule of the rate
// still follows train.steps.
type Stop struct {
	Tokens int64   `yaml:"tokens" added:"0" min:"0" max:"1000000000000000000" help:"stop after this many tokens; 0: no limit"`
	Time   string  `yaml:"time" added:"\"\"" help:"stop after this time, such as 90m or 10h, resumed parts included; empty: no limit"`
	FLOPs  float64 `yaml:"flops" added:"0" min:"0" help:"stop after this many FLOPs of the model's own matrix products; 0: no limit"`
	Loss   float64 `yaml:"loss" added:"0" min:"0" help:"stop once the validation loss, in nats a token, is not above this; 0: no limit"`
}

// Limit returns Time, 0 if there is no limit.
func (s Stop) Limit() time.Duration {
	limit, _ := time.ParseDuration(s.Time) // checked
	return limit
}

// check returns an error if the time cannot be read.
func (s Stop) check(where *settings.Positions) error {
	if s.Time == "" {
		return nil
	}
	if limit, err := time.ParseDuration(s.Time); err != nil || limit <= 0 {
		return where.Errorf("train.stop.time", "want a time above 0 with its unit, such as 90m or 10h, got %q", s.Time)
	}
	return nil
}

// mostMicroBatch is the largest number of tokens in a micro-batch if the config gives only the
// tokens of a step; a larger one takes more memory and hardly less time.
const mostMicroBatch = 16384

// assigned is the position of a key that an assignment has set.
const assigned = "-set"

// splitStep sets train.batch and train.accumulate from train.batch_tokens. If neither of the
// two is given, the micro-batch is the largest that divides the step, has at most
// mostMicroBatch tokens, and lets training fit in memory.
func (r *Run) splitStep(where *settings.Positions, available int) error {
	t := &r.Train
	if t.BatchTokens == 0 {
		return nil
	}
	const key = "train.batch_tokens"
	seq := max(1, r.Model.Seq)
	rows := t.BatchTokens / seq
	if rows == 0 || t.BatchTokens%seq != 0 || t.BatchTokens < 0 {
		return where.Errorf(key, "want a multiple of model.seq, %d, got %d: take %d", seq, t.BatchTokens, max(1, rows)*seq)
	}
	given := func(other string) bool { // an assignment comes before what the file says of the other keys
		return where.Of(other) != "" && (where.Of(key) != assigned || where.Of(other) == assigned)
	}
	batch, accumulate := given("train.batch"), given("train.accumulate")
	switch {
	case batch && accumulate && t.Batch*t.Accumulate != rows:
		return where.Errorf(key, "want train.batch x train.accumulate x model.seq, %d x %d x %d, got %d: leave one of the keys out", t.Batch, t.Accumulate, seq,
			t.BatchTokens)
	case batch && (t.Batch < 1 || rows%t.Batch != 0):
		return where.Errorf(key, "want a multiple of train.batch x model.seq, %d x %d, got %d", t.Batch, seq, t.BatchTokens)
	case batch:
		t.Accumulate = rows / t.Batch
	case accumulate && (t.Accumulate < 1 || rows%t.Accumulate != 0):
		return where.Errorf(key, "want a multiple of train.accumulate x model.seq, %d x %d, got %d", t.Accumulate, seq, t.BatchTokens)
	case accumulate:
		t.Batch = rows / t.Accumulate
	default:
		r.splitByMemory = true
		t.Batch = r.largestBatch(rows, available)
		t.Accumulate = rows / t.Batch
	}
	return nil
}

// SplitAs gives the run the micro-batches of an earlier run, which it goes on with, if its config
// leaves them to the memory that is available, and if a step has the same rows.
func (r *Run) SplitAs(earlier *Run) {
	same := r.StepTokens() == earlier.StepTokens() && r.Model.Seq == earlier.Model.Seq
	if r.splitByMemory && same && earlier.Train.Accumulate%max(1, r.Device.Ranks) == 0 {
		r.Train.Batch, r.Train.Accumulate = earlier.Train.Batch, earlier.Train.Accumulate
	}
}

// largestBatch returns the largest number of rows, at least 1, that a micro-batch may have: a
// divisor of rows.
func (r *Run) largestBatch(rows, available int) int {
	spec, err := r.Model.Resolve()
	if err != nil { // validate reports it
		return 1
	}
	candidate := *r
	for batch := min(rows, max(1, mostMicroBatch/r.Model.Seq)); batch > 1; batch-- {
		candidate.Train.Batch = batch
		if rows%batch == 0 && rows/batch%max(1, r.Device.Ranks) == 0 && candidate.MemoryNeed(spec).Total() <= available {
			return batch
		}
	}
	return 1
}

// MemoryNeed returns a lower bound on the host memory that training a model by this config
// takes. It leaves out a GPU's memory, but counts the host's copies of weights and moments.
func (r *Run) MemoryNeed(spec models.Spec) graph.MemoryNeed {
	need := spec.TrainingMemory(r.Train.Batch, graph.Recompute(r.Train.Recompute))
	if _, ok := r.Train.Optim.(Muon); ok {
		need.Moments /= 2 // Muon keeps one moment of a hidden matrix, and every rule at least one of the rest
	}
	if r.Train.Lora.Trains() {
		need.Gradients, need.Moments = 0, 0 // those of adapters are small
	}
	need.Moments /= max(1, r.Device.Ranks)
	if r.Device.Place().OnGPU() {
		need.Gradients, need.Activations = 0, 0
	}
	return need
}

// TotalSteps returns the number of steps of the run, unless train.stop ends it earlier.
func (r *Run) TotalSteps() int {
	if r.Train.Steps > 0 {
		return r.Train.Steps
	}
	step := int64(max(1, r.StepTokens()))
	return int(r.Train.Tokens/step + min(1, r.Train.Tokens%step))
}

// StepTokens returns the number of tokens in one update.
func (r *Run) StepTokens() int { return r.Train.Batch * r.Train.Accumulate * r.Model.Seq }

// Evaluations returns how many times the run scores validation text.
func (r *Run) Evaluations() int {
	total, every := r.TotalSteps(), r.Train.EvalEvery
	if every <= 0 {
		return 1
	}
	return total/every + min(1, total%every)
}

// validationShare is the share of the run's FLOPs that validation takes by default.
const validationShare = 0.03

// evalTokens returns the default number of tokens to evaluate on. All evaluations together
// take validationShare of the run's FLOPs, where scoring a token costs a third of training on
// one. Each evaluation scores at least a row and at most the number in Defaults.
func (r *Run) evalTokens() int {
	if r.Train.Steps == 0 && r.Train.Tokens == 0 {
		return r.Model.Seq
	}
	tokens := float64(r.TotalSteps()) * float64(r.StepTokens())
	if limit := r.Train.Stop.Tokens; limit > 0 {
		tokens = min(tokens, float64(limit))
	}
	tokens *= 3 * validationShare / float64(max(1, r.Evaluations()))
	return max(r.Model.Seq, int(min(float64(Defaults().Train.EvalTokens), tokens)))
}
