package trainer

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// Trainer is one run.
type Trainer struct {
	run      *config.Run
	report   Reporter
	unlock   func() error
	corpus   *data.Corpus
	batches  *data.Batcher
	store    *graph.Store
	program  *models.Compiled
	eval     *Evaluator
	optimize *optim.Optimizer
	metrics  *metricsLog
	flops    float64 // of one token, forward and backward
	times    stepTimes
	experts  expertCounts

	step      int // steps done
	badInRow  int
	badTotal  int
	best      float64 // validation loss, +Inf: none yet
	lastScore *Score
	saved     int // the step of the newest checkpoint, -1: none
	started   time.Time
	before    float64 // seconds of the run before it was resumed
}

// Options vary Open.
type Options struct {
	Resume  Resume
	Report  Reporter // nil: none
	Profile bool     // time each op and part of a step, for Trainer.Profile
}

// Result is how a run ended.
type Result struct {
	Steps       int
	Interrupted bool
	Final       *Score // validation at the end, nil when interrupted or without validation data
	Checkpoint  string // the newest step folder
}

// Open prepares a run: folder, corpus, programs, weights. Whatever it complains about is
// in the call, the config or what they name; nothing has been trained yet.
func Open(ctx context.Context, run *config.Run, o Options) (*Trainer, error) {
	t := &Trainer{run: run, report: o.Report, best: math.Inf(1), saved: -1, times: stepTimes{wanted: o.Profile}}
	if t.report == nil {
		t.report = Silent{}
	}
	if err := t.prepare(ctx, o.Resume); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// prepare makes everything that a run needs.
func (t *Trainer) prepare(ctx context.Context, resume Resume) (err error) {
	if err := refuseRun(t.run.Out, resume); err != nil {
		return err
	}
	lock := func(context.Context) (err error) {
		t.unlock, err = openFolder(t.run.Out, resume)
		return err
	}
	for _, step := range []func(context.Context) error{t.checkMemory, t.loadCorpus, lock, t.compile, t.initialise} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := t.resume(ctx, resume); err != nil {
		return err
	}
	t.noteChanges()
	if err := writeConfig(t.run); err != nil {
		return err
	}
	if t.metrics, err = openMetrics(t.run.Out, t.step); err != nil {
		return err
	}
	if n := len(t.metrics.lines); n > 0 {
		t.before = t.metrics.lines[n-1].Seconds
	}
	return nil
}

// compile builds the training and the evaluation program over one Store.
func (t *Trainer) compile(context.Context) (err error) {
	c := t.run
	t.store = graph.NewStore(tensor.Float32, c.Seed)
	o := graph.ProgramOptions{Gradients: true, Recompute: graph.Recompute(c.Train.Recompute),
		Options: c.Device.Options(t.store)}
	o.Training, o.Seed = true, c.Seed
	if t.program, err = models.Compile(c.Model, c.Train.Batch, c.Model.Seq, models.Outputs{Loss: true, ExpertCounts: true}, o); err != nil {
		return err
	}
	t.store = t.store.Serve() // evaluation and samples add no parameter
	t.experts = newExpertCounts(t.program.ExpertCounts)
	t.flops = float64(c.Model.Cost().TrainFLOPs())
	if t.corpus.CheckValidation(c.Model.Seq) == nil {
		if t.eval, err = NewEvaluator(c.Device.Options(t.store), c.Model, c.Train.Batch, c.Model.Seq); err != nil {
			return err
		}
	}
	t.optimize, err = newOptimizer(t.store, c)
	return err
}

func newOptimizer(store *graph.Store, c *config.Run) (*optim.Optimizer, error) {
	schedule, err := c.Schedule()
	if err != nil {
		return nil, err
	}
	return optim.New(store, c.Device.Threads,
		optim.Clip(c.Train.Clip),
		optim.Adam(c.Train.Beta1, c.Train.Beta2, c.Train.AdamEps),
		optim.Rate(c.Train.LR, schedule),
		optim.MuP(),
		optim.Decay(c.Train.WeightDecay, optim.DecayMode(c.Train.WeightDecayMode), nil))
}

// initialise starts from another run's weights if the config says so.
func (t *Trainer) initialise(context.Context) error {
	path := t.run.Train.InitFrom
	if path == "" {
		return nil
	}
	source, err := checkpoint.Resolve(path)
	if err != nil {
		return errors.Wrap(err, "train.init_from")
	}
	t.warn(source.Warnings)
	file, err := checkpoint.ReadModel(source.ModelPath)
	if err != nil {
		return errors.Wrap(err, "train.init_from")
	}
	d, err := describe(source.ModelPath, file.Metadata)
	if err == nil {
		err = t.run.Model.SameModel(d.Model)
	}
	if err == nil {
		err = setValues(t.store, file.Tensors)
	}
	if err == nil {
		err = t.store.ToDevice()
	}
	return errors.Wrapf(err, "train.init_from: %s", source.ModelPath)
}

// Run trains to the end, or until ctx is cancelled: then it finishes the step, saves and
// returns with Interrupted set.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	total := t.run.TotalSteps()
	t.started = time.Now()
	t.report.Start(t.step, total)
	defer t.report.Finish()
	for t.step < total && ctx.Err() == nil {
		if err := t.advance(ctx, total); err != nil {
			return nil, err
		}
	}
	if err := t.save(); err != nil {
		return nil, err
	}
	if err := t.draw(); err != nil {
		return nil, err
	}
	r := &Result{Steps: t.step, Interrupted: t.step < total, Checkpoint: filepath.Join(t.run.Out, "checkpoints", fmt.Sprintf("step-%08d", t.step))}
	if !r.Interrupted {
		r.Final = t.lastScore
	}
	return r, nil
}

// advance makes one step and what is due after it.
func (t *Trainer) advance(ctx context.Context, total int) error {
	m, err := t.trainStep()
	if err != nil {
		return err
	}
	due := t.step == total || (t.run.Train.EvalEvery > 0 && t.step%t.run.Train.EvalEvery == 0)
	improved := false
	if due && t.eval != nil {
		if improved, err = t.evaluate(ctx, &m); err != nil {
			return err
		}
	}
	if err := t.metrics.add(m); err != nil {
		return err
	}
	t.report.Step(m)
	if t.badInRow >= t.run.Train.MaxBadSteps {
		return t.giveUp(m)
	}
	if improved || (t.run.Train.CheckpointEvery > 0 && t.step%t.run.Train.CheckpointEvery == 0) {
		if err := t.save(); err != nil {
			return err
		}
	}
	if improved {
		if err := checkpoint.MarkBest(t.run.Out, t.step, t.best); err != nil {
			return err
		}
	}
	if due {
		return t.draw()
	}
	return nil
}

// giveUp ends a run that only makes numbers that are not finite.
func (t *Trainer) giveUp(m Metrics) error {
	last := "there is no checkpoint yet"
	if t.saved >= 0 {
		last = fmt.Sprintf("the checkpoint of step %d is kept", t.saved)
	}
	return errors.Errorf("step %d: loss %g, gradient norm %g: not finite for %d steps in a row (train.max_bad_steps); %s: train again with a lower train.lr or a longer train.warmup, into another folder (-out)",
		m.Step, float64(m.Loss), float64(m.GradNorm), t.badInRow, last)
}

// draw writes loss.svg.
func (t *Trainer) draw() error { return drawLoss(t.run.Out, t.run.Name, curvesOf(t.metrics.lines)) }

// evaluate scores the validation split and tells whether it is the best so far.
func (t *Trainer) evaluate(ctx context.Context, m *Metrics) (improved bool, err error) {
	tokens := t.corpus.Val.Tokens
	if n := t.run.Train.EvalTokens; n > 0 && n+1 < len(tokens) {
		tokens = tokens[:n+1]
	}
	score, err := t.eval.Evaluate(context.WithoutCancel(ctx), t.corpus.Tokenizer, tokens, nil)
	if err != nil {
		return false, err
	}
	t.lastScore = &score
	loss, bits := number(score.Loss), number(score.BitsPerByte)
	m.ValLoss, m.ValBits = &loss, &bits
	t.report.Note(fmt.Sprintf("step %d  validation loss %.4f, perplexity %.3f, %.4f bits per byte", t.step, score.Loss, score.Perplexity, score.BitsPerByte))
	if score.Loss < t.best {
		t.best = score.Loss
		return true, nil
	}
	return false, nil
}

// Store returns where the parameters live.
func (t *Trainer) Store() *graph.Store { return t.store }

// Tokenizer returns the run's tokenizer.
func (t *Trainer) Tokenizer() data.Tokenizer { return t.corpus.Tokenizer }

// Memory reports the training program's buffers.
func (t *Trainer) Memory() graph.Memory { return t.program.Memory() }

// Corpus returns the run's corpus.
func (t *Trainer) Corpus() *data.Corpus { return t.corpus }

// Close frees the folder and ends all workers.
func (t *Trainer) Close() {
	if t.program != nil {
		t.program.Close()
	}
	if t.eval != nil {
		t.eval.Close()
	}
	if t.optimize != nil {
		t.optimize.Close()
	}
	if t.store != nil {
		_ = t.store.Close()
	}
	if t.metrics != nil {
		_ = t.metrics.close()
	}
	if t.unlock != nil {
		_ = t.unlock()
		t.unlock = nil
	}
}

// Files lists what a run leaves in its folder.
func (t *Trainer) Files() []string {
	var names []string
	for _, name := range []string{configFile, metricsFile, plotFile, ProfileFile, "latest.json", "best.json"} {
		if _, err := os.Stat(filepath.Join(t.run.Out, name)); err == nil {
			names = append(names, filepath.Join(t.run.Out, name))
		}
	}
	return names
}
