package trainer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
)

// Keys that the trainer adds to a checkpoint's state.
const (
	extraMetrics    = "metrics"    // the step's line in metrics.jsonl
	extraValidation = "validation" // the step's Score, once there is one
)

// save flushes the files that the run appends to, and writes a checkpoint of this step, unless
// there is one already. In a group all ranks call it: the others send rank 0 their parts of the
// optimizer's state.
func (t *Trainer) save() error {
	if !t.leads() {
		return t.serveState()
	}
	err := t.write()
	if served := t.endState(); err == nil {
		err = served
	}
	return err
}

// write implements save. If the run's folder has disappeared, write makes a new one for the
// checkpoint before the run ends with an error.
func (t *Trainer) write() error {
	gone, moved := t.folder.check()
	if moved != nil && !gone {
		return moved
	}
	if moved == nil {
		if err := t.folder.flush(t.report.Warn); err != nil {
			return err
		}
		if t.saved == t.step() {
			return nil
		}
	}
	c, err := t.weights()
	if err != nil {
		return err
	}
	if c.State, err = t.state(); err != nil {
		return err
	}
	c.Optimizer = t.optimizerTensors()
	began := time.Now()
	dir, err := t.folder.Save(t.run.Out, c)
	if err != nil {
		return err
	}
	t.saved, t.savedAt = t.step(), time.Now()
	t.saveTook.Store(int64(time.Since(began)))
	return errors.Wrapf(moved, "step %d is saved in %s, in a new folder of the old name", t.step(), dir)
}

// weights returns a checkpoint of the weights alone, with the part of the state that depends on
// nothing but the steps made.
func (t *Trainer) weights() (*checkpoint.Checkpoint, error) {
	metadata, err := pretrained.Description{Spec: t.run.Spec(), Data: t.run.Data, Adapted: t.adapted}.Metadata()
	if err == nil {
		err = t.store.ToHost()
	}
	return &checkpoint.Checkpoint{State: t.reachedState(), Model: pretrained.Tensors(t.store), ModelMetadata: metadata}, err
}

// amend adds the validation score to the state in the step's checkpoint. It flushes
// metrics.jsonl first, so that a score in the state implies that the step's line has it, too.
func (t *Trainer) amend() error {
	if err := t.folder.flush(t.report.Warn); err != nil {
		return err
	}
	state, err := t.state()
	if err != nil {
		return err
	}
	return t.folder.Amend(t.run.Out, state)
}

// state returns what a checkpoint stores about the run.
func (t *Trainer) state() (checkpoint.State, error) {
	s := t.reachedState()
	s.Run, s.GoodStep, s.BestStep = t.id, stepOrNil(t.good), stepOrNil(t.bestStep)
	if !math.IsInf(t.best, 0) {
		s.BestLoss = &t.best
	}
	var err error
	if s.ConfigDigest, err = configDigest(t.run, t.adapted); err != nil {
		return s, err
	}
	extra := map[string]any{}
	if t.last.Step == t.step() {
		extra[extraMetrics] = t.last
	}
	if t.score != nil {
		extra[extraValidation] = t.score
	}
	if t.stopped != nil {
		extra[extraStopped] = t.stopped
	}
	s.Extra = map[string]json.RawMessage{}
	for key, value := range extra {
		if s.Extra[key], err = json.Marshal(value); err != nil {
			return s, errors.WithStack(err)
		}
	}
	return s, nil
}

// reachedState returns the part of the state that is the same for every run which has made these
// steps from this seed.
func (t *Trainer) reachedState() checkpoint.State {
	p := t.learner.Progress()
	return checkpoint.State{
		Step: p.Steps, Tokens: int64(p.Steps) * int64(t.run.StepTokens()), BatchPosition: t.batches.Position(),
		CorpusFingerprint: t.corpus.Fingerprint, Numerics: graph.Numerics, Path: t.run.Device.Path(), Seed: t.run.Seed, OptimizerSteps: p.Updates,
		BadSteps: p.Skipped, BadInRow: p.SkippedInRow,
	}
}

// stepOrNil returns a pointer to the step, nil if there is none (-1).
func stepOrNil(step int) *int {
	if step < 0 {
		return nil
	}
	return &step
}

// trained returns a resolved config without the keys out, train.keep_log, device.ranks and
// device.rank_timeout, which do not affect what is trained.
func trained(run *runconfig.Run) *runconfig.Run {
	anywhere := *run
	anywhere.Out, anywhere.Train.KeepLog = "", false
	alone := runconfig.Defaults().Device
	anywhere.Device.Ranks, anywhere.Device.RankTimeout = alone.Ranks, alone.RankTimeout
	return &anywhere
}

// configDigest returns the SHA-256 of the config without the keys that do not affect training; with
// adapters, the digest of the model that they adapt is hashed, too.
func configDigest(run *runconfig.Run, of *pretrained.Adapted) (string, error) {
	text, err := settings.Marshal(trained(run))
	if of != nil {
		text = append(text, of.Digest...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
