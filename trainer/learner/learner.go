// Package learner trains a model in memory. A Learner joins a model, its batches and its optimizer,
// as fastai's does; it reads and writes no files. Package trainer adds a config, checkpoints and
// metrics.
package learner

import (
	"cmp"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer/distributed"
)

// Options say how a Learner trains. The zero value trains on one row of the model's length at a
// time, with the optimizer that optim.New makes without parts: Adam.
type Options struct {
	Batch      int            // rows of a micro-batch; 0: 1
	Seq        int            // tokens in a row; 0: the model's length
	Accumulate int            // micro-batches whose gradients are summed for a step, over all ranks of Group; 0: 1
	Outputs    models.Outputs // what to compute beyond the loss: auxiliary losses, logits, expert counts

	// Compute sets the Store (nil: a new one, drawn from Seed), the number of threads, the device
	// and the hooks. Seed also seeds dropout. New sets Training, so that dropout is active.
	Compute   graph.Options
	Recompute graph.Recompute // trades time for memory; "": none

	Optimizer []optim.Part

	// Group makes several ranks train one model. They must have the same options, batches and
	// initial parameters. Each rank computes an equal share of a step's micro-batches and
	// updates its share of the parameters. A single rank gets the same result, up to the order
	// of sums. nil: a single rank.
	Group *distributed.Group
	// Signal, if it is not nil, is asked once a step. If it is true on a rank, Step.Signal is true
	// on all.
	Signal func() bool
	// Bucket is the least number of parameter entries whose gradients are reduced together; 0:
	// 1,048,576.
	Bucket int
}

// Learner trains one model. It is not safe for concurrent use.
type Learner struct {
	batches    Batches
	accumulate int
	program    *models.Compiled
	optimizer  *optim.Optimizer
	ranks      *ranks // nil: alone
	progress   Progress
	loss       float64 // of the gradient that Update will apply; NaN: none
	ready      bool    // such a gradient exists
	experts    [][]int
	stop       bool // Step.Stop, Step.Signal
	signalled  bool
	signal     func() bool
	profile    bool
	onMicro    func(done, of int) // nil: none
	times      Times
}

// New compiles the model's training program and makes the optimizer over its parameters. It returns
// an error if the options do not fit the model, the Store or the machine's memory.
func New(spec models.Spec, batches Batches, o Options) (*Learner, error) {
	if batches == nil {
		return nil, errors.New("learner: want batches, got nil: a data.Batcher, Fixed or a BatchFunc fills them")
	}
	if o.Batch < 0 || o.Seq < 0 || o.Accumulate < 0 {
		return nil, errors.Errorf("learner: want Batch, Seq and Accumulate >= 1, or 0 for the default, got %d, %d and %d", o.Batch, o.Seq, o.Accumulate)
	}
	size, err := sizeOf(o.Group, max(1, o.Accumulate))
	if err != nil {
		return nil, err
	}
	o.Outputs.Loss, o.Compute.Training = true, true
	l := &Learner{batches: batches, accumulate: max(1, o.Accumulate)}
	program := graph.ProgramOptions{Options: o.Compute, Gradients: true, Recompute: o.Recompute, Moments: optim.Moments(o.Optimizer...), Ranks: size}
	if l.program, err = models.Compile(spec, max(1, o.Batch), cmp.Or(o.Seq, spec.Seq), o.Outputs, program); err != nil {
		return nil, err
	}
	parts := append([]optim.Part{optim.Precision(o.Compute.Precision)}, o.Optimizer...)
	if o.Group != nil {
		parts = append(parts, optim.Shard(optim.Shards{Rank: o.Group.Rank(), Ranks: size, Order: l.program.FinalOrder(), Bucket: o.Bucket}))
	}
	if l.optimizer, err = optim.New(l.program.Store(), o.Compute.Threads, parts...); err != nil {
		l.Close()
		return nil, err
	}
	if o.Compute.Simulate {
		l.optimizer.Pool().Simulate()
	}
	l.signal = o.Signal
	if o.Group != nil {
		if l.ranks, err = newRanks(o.Group, l.program.Store(), l.optimizer); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// Optimizer returns the optimizer. A checkpoint needs its State besides the parameters.
func (l *Learner) Optimizer() *optim.Optimizer { return l.optimizer }

// Program returns the training program. Its Store holds the parameters; its outputs and hooks hold
// the values of the last micro-batch.
func (l *Learner) Program() *models.Compiled { return l.program }

// Close stops the workers of program and optimizer. The Store keeps the parameters. In a Group of
// GPUs, close when no rank needs the others anymore.
func (l *Learner) Close() {
	l.ranks.close()
	if l.optimizer != nil {
		l.optimizer.Close()
	}
	l.program.Close()
}

// Progress says how far a training has come. Together with the parameters and the optimizer's State
// in the Store, and the position of the batches, it is all that another Learner needs to go on with
// the same bits.
type Progress struct {
	Steps        int // made so far, skipped ones included
	Updates      int // steps that changed the parameters; the schedule counts these
	Skipped      int // steps whose loss or gradient was not finite
	SkippedInRow int // skipped steps since the last update
}

// Progress returns how far the training has come.
func (l *Learner) Progress() Progress {
	p := l.progress
	p.Updates = l.optimizer.Steps()
	return p
}

// Resume goes on from another Learner's Progress. The caller must first restore the parameters, the
// optimizer's State and the position of the batches.
func (l *Learner) Resume(p Progress) {
	l.progress, l.ready = p, false
	l.optimizer.SetSteps(p.Updates)
}
