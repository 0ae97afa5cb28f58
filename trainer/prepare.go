package trainer

import (
	"context"
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer/learner"
)

// prepare loads and compiles everything that a run needs.
func (t *Trainer) prepare(ctx context.Context) error {
	o := t.options
	if o.Fork != "" && o.Resume != ResumeNone {
		return errors.Errorf("-fork starts a run of its own: want no -resume with it, got %s", o.Resume)
	}
	if err := t.checkRanks(); err != nil {
		return err
	}
	t.splitAsBefore()
	if o.Dry {
		return inTurn(ctx, t.checkMemory, t.loadCorpus, t.agree, t.compile, t.openMeasures)
	}
	if !t.leads() {
		return inTurn(ctx, t.checkMemory, t.loadCorpus, t.agree, t.compile, t.openMeasures, t.receiveStart)
	}
	if err := refuseRun(t.run.Out, o.Resume); err != nil {
		return err
	}
	lock := func(context.Context) error { return t.folder.open(o.Resume, t.report.Warn) }
	if err := inTurn(ctx, t.checkMemory, t.loadCorpus, t.agree, lock, t.compile, t.initialise, t.openMeasures, t.start, t.sendStart); err != nil {
		return err
	}
	if err := t.openRecordings(); err != nil {
		return err
	}
	t.healBest()
	if o.Fork == "" {
		t.noteChanges()
	}
	return t.folder.writeConfig(t.run)
}

// inTurn runs steps until one fails.
func inTurn(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// adaptersOf returns the adapters that a run trains, with train.lora.
func adaptersOf(run *runconfig.Run) ([]graph.Adapter, error) {
	return pretrained.Adapters(run.Zoo(), run.Spec(), pretrained.ArchitectureAt(run.Train.InitFrom), run.Train.Lora)
}

// deep is a number of layers whose graph takes long to compile, so that the run reports it.
const deep = 512

// compile builds the training and the evaluation program over one Store.
func (t *Trainer) compile(ctx context.Context) (err error) {
	c := t.run
	t.store = graph.NewStore(tensor.Float32, c.Seed)
	if c.Train.Lora.Trains() {
		adapters, err := adaptersOf(c)
		if err == nil {
			err = t.store.Adapt(adapters)
		}
		if err != nil {
			return err
		}
	}
	if c.Spec().Depth() >= deep {
		t.report.Note(fmt.Sprintf("compiling %d layers takes long (512 some seconds, 4096 minutes): Gorgonia's time grows with the square of the graph",
			c.Spec().Depth()))
	}
	o, err := LearnerOptions(ctx, c, t.store)
	if err != nil {
		return err
	}
	o.Outputs.ExpertCounts = true
	o.Group, o.Compute.Simulate = t.group, t.options.Simulate
	if o.Compute.Device, err = t.place(c.Device); err != nil {
		return err
	}
	o.Signal = func() bool { return t.leads() && t.minutesPassed() }
	if t.learner, err = learner.New(c.Spec(), currentBatches{t}, o); err != nil {
		return err
	}
	t.noteLora(optim.Moments(o.Optimizer...))
	t.store = t.store.Serve() // from here on, evaluation and samples cannot add parameters
	t.flops = float64(c.Spec().Cost().TrainFLOPs())
	if t.scores = t.checkValidation(t.corpus) == nil; t.scores && t.leads() {
		compute := c.Device.Options(t.store)
		compute.Context = ctx
		if t.eval, err = eval.NewEvaluator(compute, c.Spec(), c.Train.Batch, c.Model.Seq, t.corpus.Val.Tokens.Examples().Chance > 0); err != nil {
			return err
		}
	}
	return t.checkStopLoss()
}

// noteLora says what adapters take, and what training all parameters would take instead.
func (t *Trainer) noteLora(moments func(*graph.Param) int) {
	if !t.run.Train.Lora.Trains() {
		return
	}
	bytes := func(params []*graph.Param) (n int) {
		for _, p := range params {
			n += p.Size() * (1 + moments(p)) * int(t.store.DType().Size())
		}
		return n
	}
	m, all := t.Memory(), t.store.Frozen()
	t.report.Note(fmt.Sprintf("train.lora: %d parameters are trained, next to %d that stay as they are: "+
		"%s of gradients and moments, and in the buffers %s of changed weights and at most %s of their gradients at a time; "+
		"training all %d would take %s of gradients and moments",
		t.store.TrainedSize(), t.store.Size()-t.store.TrainedSize(), graph.FormatBytes(bytes(t.store.Trained())), graph.FormatBytes(m.Adapted),
		graph.FormatBytes(m.AdaptedGradients), t.store.Size()-t.store.TrainedSize(), graph.FormatBytes(bytes(all))))
}

// currentBatches are the trainer's batches, which resuming may replace.
type currentBatches struct{ t *Trainer }

// Next fills the next micro-batch.
func (b currentBatches) Next(tokens, targets []int32) error { return b.t.batches.Next(tokens, targets) }

// Targets returns the numbers of targets of the next n micro-batches.
func (b currentBatches) Targets(n int) []int { return b.t.batches.Targets(n) }

// Skip passes over n micro-batches.
func (b currentBatches) Skip(n int) { b.t.batches.Skip(n) }

// LearnerOptions returns the learner's options for a run whose parameters a Store holds.
func LearnerOptions(ctx context.Context, run *runconfig.Run, store *graph.Store) (learner.Options, error) {
	parts, err := run.Optimizer()
	o := learner.Options{
		Batch: run.Train.Batch, Accumulate: run.Train.Accumulate, Outputs: models.Outputs{Auxiliary: run.Auxiliary()},
		Compute: run.Device.Options(store), Recompute: graph.Recompute(run.Train.Recompute), Optimizer: parts,
	}
	o.Compute.Seed, o.Compute.Context = run.Seed, ctx
	return o, err
}

// sameModel refuses a file whose model differs from the run's. Often a model has more ids than its
// tokenizer, and a config that sets no vocabulary takes the tokenizer's; the error then says how to
// set it.
func sameModel(run, file models.Spec) error {
	err := run.SameModel(file)
	vocab := file.Vocab
	if file.Vocab = run.Vocab; vocab > run.Vocab && run.SameModel(file) == nil {
		return errors.Errorf("%v: train with -set model.vocab=%d, which has ids to spare for the tokenizer", err, vocab)
	}
	return err
}

// initialise loads another run's weights, if the config says so: with train.lora, those that
// adapters change.
func (t *Trainer) initialise(context.Context) error {
	path := t.run.Train.InitFrom
	if path == "" {
		return nil
	}
	m, err := pretrained.Open(path, t.run.Zoo())
	if err != nil {
		return errors.Wrap(err, "train.init_from")
	}
	t.warn(m.Source.Warnings)
	err = sameModel(t.run.Spec(), m.Spec)
	into := t.store.Trained()
	if t.run.Train.Lora.Trains() && err == nil {
		into = t.store.Frozen()
		t.adapted, err = pretrained.AdaptedFrom(m, path, t.run.Train.Lora)
	}
	if err == nil {
		err = setValues(into, pretrained.Tensors(m.Store))
	}
	if err == nil {
		err = t.store.ToDevice()
	}
	return errors.Wrapf(err, "train.init_from: %s", m.Source.ModelPath)
}
