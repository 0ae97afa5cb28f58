package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
	"github.com/residua-go/residua/trainer/learner"
)

// Prediction is the predicted cost of an experiment.
type Prediction struct {
	Runs    int          `json:"runs"`          // runs in the plan
	Todo    int          `json:"to_be_trained"` // runs that are not in the log
	FLOPs   float64      `json:"flops"`         // of the runs to be trained
	Work    float64      `json:"seconds"`       // of these runs, one after another
	Wall    float64      `json:"wall_seconds"`  // with the given number of jobs, if none slows down another
	Jobs    int          `json:"jobs"`
	Log     int          `json:"log_bytes,omitempty"` // on disk, of the weights that these runs keep by train.keep_log
	Shared  string       `json:"settings"`            // common to all runs
	Summary figure.Table `json:"summary"`
}

// measureFor is how long steps are timed.
const measureFor = 300 * time.Millisecond

// Predict predicts the cost of the runs. It takes a run's time from other seeds of its point in the
// log. If there are none, it times a few training steps of each different model on random tokens,
// and adds a third of a step for each batch to evaluate. It leaves out the time to read the text
// and to write checkpoints. If rates are searched, it counts three for each point, the smallest
// possible number. With only, it predicts the runs of these series alone.
func (p *Plan) Predict(ctx context.Context, jobs int, only ...string) (*Prediction, error) {
	if err := p.checkOnly(only); err != nil {
		return nil, err
	}
	if _, err := p.readLog(); err != nil {
		return nil, err
	}
	out := &Prediction{Jobs: max(1, jobs), Summary: figure.NewTable("", "llrrrrrrl",
		"runs", "of them complete", "parameters", "without tables", "tokens", "steps", "TFLOP a run", "seconds a run", "settings of its own")}
	shared := p.cells[0].first.Settings
	for _, c := range p.cells {
		shared = slices.DeleteFunc(slices.Clone(shared), func(s string) bool { return !slices.Contains(c.first.Settings, s) })
	}
	out.Shared = strings.Join(withoutSeed(shared), " ")
	steps := map[string]float64{} // seconds, by model
	busy := make([]float64, out.Jobs)
	for _, c := range p.cells {
		if len(only) > 0 && !slices.Contains(only, c.series) {
			continue
		}
		s, err := c.state()
		if err != nil {
			return nil, err
		}
		log, err := trainer.PredictLog(c.first.Run)
		if err != nil {
			return nil, err
		}
		runs, done := s.count(c)
		seconds, err := s.seconds(ctx, c.first.Run, steps)
		if err != nil {
			return nil, err
		}
		out.Runs, out.Todo = out.Runs+runs, out.Todo+runs-done
		for range runs - done {
			out.FLOPs += c.first.flops()
			out.Work += seconds
			out.Log += log.Bytes
			slices.Sort(busy)
			busy[0] += seconds // the first free job takes the next run
		}
		own := slices.DeleteFunc(withoutSeed(c.first.Settings), func(s string) bool { return slices.Contains(shared, s) })
		out.Summary.Rows = append(out.Summary.Rows, c.row(runs, done, seconds, own))
	}
	out.Wall = slices.Max(busy)
	return out, nil
}

// withoutSeed returns the settings that all seeds share.
func withoutSeed(settings []string) []string {
	return slices.DeleteFunc(slices.Clone(settings), func(s string) bool { return strings.HasPrefix(s, "seed=") })
}

// seconds predicts the time of another run of a cell, given one of its runs.
func (s state) seconds(ctx context.Context, run *runconfig.Run, steps map[string]float64) (float64, error) {
	if known := slices.Concat(s.tried, s.runs); len(known) > 0 {
		return known[len(known)-1].Seconds, nil
	}
	text, err := settings.Marshal(run.Model)
	if err != nil {
		return 0, err
	}
	key := fmt.Sprint(string(text), run.Train.Batch, run.Train.Accumulate, run.Train.Optim, run.Device)
	if steps[key] == 0 {
		if steps[key], err = timeStep(ctx, run); err != nil {
			return 0, err
		}
	}
	evaluated := float64(run.Train.EvalTokens) / float64(run.StepTokens()) // in units of a step's tokens; 0: all of the text, whose size is unknown
	return steps[key] * (float64(run.TotalSteps()) + float64(run.Evaluations())*evaluated/3), nil
}

// row returns a cell's line of the plan.
func (c *cell) row(runs, done int, seconds float64, own []string) []string {
	run, cost, name := c.first.Run, c.first.Run.Spec().Cost(), c.first.Name
	if seeds := c.seeds(); len(seeds) > 1 {
		name = fmt.Sprintf("%s to %d", name, seeds[len(seeds)-1])
	}
	row := []string{name, fmt.Sprintf("%d of %d", done, runs)}
	for _, n := range []int{cost.Parameters, cost.Parameters - cost.Embedding, run.TotalSteps() * run.StepTokens(), run.TotalSteps()} {
		row = append(row, figure.Thousands(int64(n)))
	}
	return append(row, threeDigits(c.first.flops()/1e12), threeDigits(seconds), strings.Join(own, " "))
}

// threeDigits formats a positive number with three significant digits; from 100 on it rounds
// to an integer, so that there is no exponent.
func threeDigits(v float64) string {
	if v >= 100 {
		return figure.Thousands(int64(math.Round(v)))
	}
	return fmt.Sprintf("%.3g", v)
}

// Text returns the plan for a person to read.
func (p *Prediction) Text() string {
	text := p.Summary.Text() + fmt.Sprintf("settings of all: %s\n%d of %d runs are to be trained: %s TFLOP, about %s of training, %s with %d side by "+
		"side if none slows another\n",
		p.Shared, p.Todo, p.Runs, threeDigits(p.FLOPs/1e12), duration(p.Work), duration(p.Wall), p.Jobs)
	if p.Log > 0 {
		text += fmt.Sprintf("the weights that train.keep_log keeps take about %s on disk\n", graph.FormatBytes(p.Log))
	}
	return text
}

// duration formats seconds.
func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// timeStep returns the seconds of a training step.
func timeStep(ctx context.Context, run *runconfig.Run) (float64, error) {
	draw := rand.New(rand.NewPCG(run.Seed, 0))
	tokens := make([]int32, run.Train.Batch*run.Model.Seq)
	for i := range tokens {
		tokens[i] = int32(draw.IntN(run.Model.Vocab))
	}
	l, err := newLearner(ctx, run, learner.Fixed(tokens, tokens), nil)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	steps := -1 // do not count the first, which allocates buffers
	var began time.Time
	for ; steps < 1 || time.Since(began) < measureFor; steps++ {
		if steps == 0 {
			began = time.Now()
		}
		if _, err := l.Step(ctx); ctx.Err() != nil {
			return 0, context.Cause(ctx)
		} else if err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() / float64(steps), nil
}

// newLearner returns a Learner for a run's model, in memory; with hooks it keeps the hooked
// activations and the logits.
func newLearner(ctx context.Context, run *runconfig.Run, batches learner.Batches, hooks graph.Hooks) (*learner.Learner, error) {
	o, err := trainer.LearnerOptions(ctx, run, graph.NewStore(tensor.Float32, run.Seed))
	if err != nil {
		return nil, err
	}
	o.Compute.Hooks, o.Outputs.Logits = hooks, hooks != nil
	l, err := learner.New(run.Spec(), batches, o)
	return l, setupError(err)
}
