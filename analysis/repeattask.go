package analysis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer/learner"
)

// RepeatTask trains small models on the task that induction heads solve (Elhage et al. 2021;
// Olsson et al. 2022): rows of random tokens that repeat with a period drawn for each row, so
// that no position tells what comes next, only what followed the same token before.
type RepeatTask struct {
	Rows      int     // in a step
	MinPeriod int     // smallest period; the period of each row is drawn
	MaxPeriod int     // largest period, at most half the model's seq
	Steps     int     // updates
	LR        float64 // peak rate of Adam, linear warm-up over a twentieth, cosine to a tenth
	Seed      uint64  // of weights and tokens
	Threads   int     // 0: one for each core

	// Report is called after each step; an error ends the training. nil: it is not called.
	Report func(done, total int, loss float64) error
}

// Train trains a model of a spec, and returns its weights and the loss of each step, in nats per
// predictable token (the tokens of a row's first period are not counted). It returns an error if
// the config or the fields are not valid.
func (r RepeatTask) Train(spec models.Spec) (*graph.Store, []float64, error) {
	if err := r.check(spec); err != nil {
		return nil, nil, err
	}
	spec = withoutDropout(spec)
	schedule := optim.WarmupCosine{Warmup: max(1, r.Steps/20), Total: r.Steps, Min: 0.1, WarmupFromOne: true}
	store := graph.NewStore(tensor.Float32, r.Seed)
	l, err := learner.New(spec, r.batches(spec), learner.Options{
		Batch: r.Rows, Compute: graph.Options{Store: store, Threads: r.Threads},
		Optimizer: []optim.Part{optim.Adam(0.9, 0.98, 1e-8), optim.Clip(1), optim.Rate(r.LR, schedule)},
	})
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	var losses []float64
	err = l.Train(context.Background(), r.Steps, func(s learner.Step) error {
		losses = append(losses, s.Loss)
		if r.Report == nil {
			return nil
		}
		return r.Report(s.N, r.Steps, s.Loss)
	})
	return store, losses, err
}

func (r RepeatTask) check(spec models.Spec) error {
	switch {
	case r.Rows < 1 || r.Steps < 1 || !(r.LR > 0):
		return check.Value("repeat task", "rows, steps and a learning rate above 0", fmt.Sprintf("%d, %d and %g", r.Rows, r.Steps, r.LR))
	case spec.MaskDocuments:
		return check.Value("repeat task", "a model without document masks", "one that sees nothing before BOS, which is drawn too: set MaskDocuments to false")
	case r.MinPeriod < 2 || r.MaxPeriod < r.MinPeriod || 2*r.MaxPeriod > spec.Seq:
		return check.Valuef("repeat task", fmt.Sprintf("%d and %d", r.MinPeriod, r.MaxPeriod), "2 <= MinPeriod <= MaxPeriod <= half of %d tokens", spec.Seq)
	}
	return nil
}

// batches draws the rows.
func (r RepeatTask) batches(spec models.Spec) learner.Batches {
	draw := rand.New(rand.NewPCG(r.Seed, 1))
	return learner.BatchFunc(func(tokens, targets []int32) error {
		for row := range r.Rows {
			r.fill(draw, spec, tokens[row*spec.Seq:][:spec.Seq], targets[row*spec.Seq:][:spec.Seq])
		}
		return nil
	})
}

// fill draws a row. A target is counted once its token has been seen: after the first
// period.
func (r RepeatTask) fill(draw *rand.Rand, spec models.Spec, tokens, targets []int32) {
	period := r.MinPeriod + draw.IntN(r.MaxPeriod-r.MinPeriod+1)
	at := func(i int) int32 { return tokens[i%period] }
	for i := range tokens {
		if i < period {
			tokens[i] = int32(draw.IntN(spec.Vocab))
		} else {
			tokens[i] = at(i)
		}
	}
	for i := range targets {
		targets[i] = -1
		if i >= period {
			targets[i] = at(i + 1)
		}
	}
}
