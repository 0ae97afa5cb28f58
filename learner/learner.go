// Package learner trains a model in memory. A Learner brings together a model, its batches and its
// optimizer, as fastai's does; it reads and writes no files. Package trainer makes a run of one, with a
// config, checkpoints and metrics.
package learner

import (
	"cmp"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// Options say how a Learner trains. The zero value trains on one row of the model's length at a time,
// by Adam as optim.New without parts makes it.
type Options struct {
	Batch      int            // rows of a micro-batch; 0: 1
	Seq        int            // tokens of a row; 0: the model's
	Accumulate int            // micro-batches whose gradients make a step; 0: 1
	Outputs    models.Outputs // what is computed beyond the loss: auxiliary losses, logits, expert counts

	// Compute says over which Store (nil: a new one, drawn from Seed), with how many threads, on which
	// device, with which hooks. Seed is also that of dropout. Training is set, so that dropout is active.
	Compute   graph.Options
	Recompute graph.Recompute // trades time for memory; "": none

	Optimizer []optim.Part
}

// Learner trains one model. It is not safe for concurrent use.
type Learner struct {
	batches    Batches
	accumulate int
	program    *models.Compiled
	optimizer  *optim.Optimizer
	progress   Progress
	loss       float64 // of the gradient that Update is to apply; NaN: none
	ready      bool    // there is such a gradient
	experts    [][]int
	profile    bool
	times      Times
}

// New compiles the model's training program and makes the optimizer over its parameters. It is an error
// if the options do not fit the model, the Store or the machine's memory.
func New(spec models.Spec, batches Batches, o Options) (*Learner, error) {
	if batches == nil {
		return nil, errors.New("learner: want batches, got nil: a data.Batcher, Fixed or a BatchFunc fills them")
	}
	if o.Batch < 0 || o.Seq < 0 || o.Accumulate < 0 {
		return nil, errors.Errorf("learner: want Batch, Seq and Accumulate >= 1, or 0 for the default, got %d, %d and %d", o.Batch, o.Seq, o.Accumulate)
	}
	o.Outputs.Loss, o.Compute.Training = true, true
	l := &Learner{batches: batches, accumulate: max(1, o.Accumulate)}
	var err error
	program := graph.ProgramOptions{Options: o.Compute, Gradients: true, Recompute: o.Recompute, Moments: optim.Moments(o.Optimizer...)}
	if l.program, err = models.Compile(spec, max(1, o.Batch), cmp.Or(o.Seq, spec.Seq), o.Outputs, program); err != nil {
		return nil, err
	}
	if l.optimizer, err = optim.New(l.program.Store(), o.Compute.Threads, append([]optim.Part{optim.Precision(o.Compute.Precision)}, o.Optimizer...)...); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Optimizer returns the optimizer, whose State is to be saved with the parameters.
func (l *Learner) Optimizer() *optim.Optimizer { return l.optimizer }

// Program returns the training program: its Store holds the parameters, its outputs and hooks are those of
// the last micro-batch.
func (l *Learner) Program() *models.Compiled { return l.program }

// Close ends the workers of program and optimizer. The Store keeps the parameters.
func (l *Learner) Close() {
	if l.optimizer != nil {
		l.optimizer.Close()
	}
	l.program.Close()
}

// Progress is where a training stands: with the parameters and the optimizer's State in the Store, and the position of the
// batches, all that another Learner needs to go on with the same bits.
type Progress struct {
	Steps        int // made so far, with those that were skipped
	Updates      int // of them, those that changed the parameters: where the schedule is
	Skipped      int // of them, those whose loss or gradient was not finite
	SkippedInRow int // since the last update
}

// Progress returns where the training stands.
func (l *Learner) Progress() Progress {
	p := l.progress
	p.Updates = l.optimizer.Steps()
	return p
}

// Resume goes on from where another Learner stood. The caller has put parameters, the optimizer's State and the position
// of the batches back.
func (l *Learner) Resume(p Progress) {
	l.progress, l.ready = p, false
	l.optimizer.SetSteps(p.Updates)
}
