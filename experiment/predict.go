package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/learner"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/settings"
)

// Prediction is what an experiment will take.
type Prediction struct {
	Runs    int          `json:"runs"`          // of the plan
	Todo    int          `json:"to_be_trained"` // those that are not in the log
	FLOPs   float64      `json:"flops"`         // of those
	Work    float64      `json:"seconds"`       // of those, one after the other
	Wall    float64      `json:"wall_seconds"`  // with the jobs side by side, if none slows another
	Jobs    int          `json:"jobs"`
	Shared  string       `json:"settings"` // of all runs
	Summary figure.Table `json:"summary"`
}

// measureFor is how long steps are timed.
const measureFor = 300 * time.Millisecond

// Predict says what the runs will take. A run's time is that of other seeds of its point in the log, else that of a few training
// steps on random tokens, which it makes of each different model; a third of that for each batch that is evaluated. Reading
// the text and checkpoints come on top. Where rates are looked for, a point has three of them at least.
func (p *Plan) Predict(ctx context.Context, jobs int) (*Prediction, error) {
	log, err := p.Log()
	if err != nil {
		return nil, err
	}
	out := &Prediction{Jobs: max(1, jobs), Summary: figure.Table{Align: "llrrrrrrl",
		Header: []string{"runs", "of them complete", "parameters", "without tables", "tokens", "steps", "TFLOP a run", "seconds a run", "settings of its own"}}}
	var firsts []*Planned // of each cell
	for _, c := range p.cells {
		first, err := c.at(0, 0)
		if err != nil {
			return nil, err
		}
		firsts = append(firsts, first)
	}
	shared := common(firsts)
	out.Shared = strings.Join(shared, " ")
	steps := map[string]float64{} // seconds, by model
	var times []float64
	for i, c := range p.cells {
		s, err := c.state(byName(log))
		if err != nil {
			return nil, err
		}
		runs, done := s.count(p.Config)
		seconds, err := s.seconds(ctx, firsts[i], steps)
		if err != nil {
			return nil, err
		}
		out.Runs += runs
		for range runs - done {
			times = append(times, seconds)
			out.FLOPs += firsts[i].flops()
			out.Work += seconds
		}
		out.Summary.Row(row(firsts[i], shared, runs, done, seconds)...)
	}
	out.Todo, out.Wall = len(times), sideBySide(times, out.Jobs)
	return out, nil
}

// seconds are those of another run of a cell, whose first one is given.
func (s state) seconds(ctx context.Context, first *Planned, steps map[string]float64) (float64, error) {
	if n := len(s.runs); n > 0 {
		return s.runs[n-1].Seconds, nil
	}
	run := first.Run
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
	total := float64(run.TotalSteps())
	evaluations := total / float64(max(1, run.Train.EvalEvery))
	evaluated := float64(run.Train.EvalTokens) / float64(run.StepTokens()) // in steps' tokens; 0: all the text, whose size is not known
	return steps[key] * (total + evaluations*evaluated/3), nil
}

// row is a line of the plan: a cell, whose first run is given.
func row(first *Planned, shared []string, runs, done int, seconds float64) []string {
	cost := first.Run.Spec().Cost()
	own := slices.DeleteFunc(common([]*Planned{first}), func(s string) bool { return slices.Contains(shared, s) })
	name := first.Name
	if last := first.cell.plan.Config.Seeds - 1; last > 0 {
		name = fmt.Sprintf("%s to %d", name, last)
	}
	return []string{name, fmt.Sprintf("%d of %d", done, runs), figure.Thousands(int64(cost.Parameters)), figure.Thousands(int64(cost.Parameters - cost.Embedding)),
		figure.Thousands(int64(first.Run.TotalSteps()) * int64(first.Run.StepTokens())), figure.Thousands(int64(first.Run.TotalSteps())),
		fmt.Sprintf("%.3g", first.flops()/1e12), fmt.Sprintf("%.3g", seconds), strings.Join(own, " ")}
}

// common are the settings that all of some runs have, but the seed.
func common(runs []*Planned) []string {
	return slices.DeleteFunc(slices.Clone(runs[0].Settings), func(s string) bool {
		return strings.HasPrefix(s, "seed=") || slices.ContainsFunc(runs, func(o *Planned) bool { return !slices.Contains(o.Settings, s) })
	})
}

// Text is the plan for a person.
func (p *Prediction) Text() string {
	return p.Summary.Text() + fmt.Sprintf("settings of all: %s\n%d of %d runs are to be trained: %.4g TFLOP, about %s of training, %s with %d side by side if none slows another\n",
		p.Shared, p.Todo, p.Runs, p.FLOPs/1e12, duration(p.Work), duration(p.Wall), p.Jobs)
}

// duration writes seconds.
func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// sideBySide is when the last of jobs is through, the longest first, each next one taken by whoever is free.
func sideBySide(times []float64, jobs int) float64 {
	slices.Sort(times)
	busy := make([]float64, jobs)
	for _, t := range slices.Backward(times) {
		slices.Sort(busy)
		busy[0] += t
	}
	return slices.Max(busy)
}

// timeStep is the seconds of a training step.
func timeStep(ctx context.Context, run *config.Run) (float64, error) {
	parts, err := run.Optimizer()
	if err != nil {
		return 0, err
	}
	draw := rand.New(rand.NewPCG(run.Seed, 0))
	tokens := make([]int32, run.Train.Batch*run.Model.Seq)
	for i := range tokens {
		tokens[i] = int32(draw.IntN(run.Model.Vocab))
	}
	o := learner.Options{Batch: run.Train.Batch, Accumulate: run.Train.Accumulate, Outputs: models.Outputs{Auxiliary: run.Auxiliary()},
		Compute: run.Device.Options(graph.NewStore(tensor.Float32, run.Seed)), Recompute: graph.Recompute(run.Train.Recompute), Optimizer: parts}
	l, err := learner.New(run.Spec(), learner.Fixed(tokens, tokens), o)
	if err != nil {
		return 0, Setup(err)
	}
	defer l.Close()
	steps := 0
	var began time.Time
	for ; steps < 2 || time.Since(began) < measureFor; steps++ {
		_, err := l.Step(ctx)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err != nil {
			return 0, err
		}
		if steps == 0 { // makes buffers
			began = time.Now()
		}
	}
	return time.Since(began).Seconds() / float64(max(1, steps-1)), nil
}
