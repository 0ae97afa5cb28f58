package analysis

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer/learner"
)

// training is one optimizer to compare, with the settings it trains by.
type training struct {
	name  string
	rate  float64
	gains bool // are trained; otherwise they stay 1
	parts []optim.Part
}

// trainings lists the optimizers with their learning rates.
func trainings() []training {
	const sgdRate, adamRate = 0.1, 0.001
	sgd := []optim.Part{optim.SGD(), optim.Rate(sgdRate, optim.Constant{})}
	adam := []optim.Part{optim.Adam(0.9, 0.95, 1e-8), optim.Rate(adamRate, optim.Constant{})}
	return []training{
		{name: "SGD", rate: sgdRate, parts: sgd},
		{name: "SGD, gains trained", rate: sgdRate, gains: true, parts: sgd},
		{name: "Adam", rate: adamRate, parts: adam},
		{name: "AdamW", rate: adamRate, parts: append(adam[:2:2], optim.Decay(0.1, optim.Coupled, nil))},
	}
}

// run trains a model and its rotated copy.
func (t training) run(ctx context.Context, model *graph.Store, spec models.Spec, ids []int32, o OptimizerOptions) (OptimizerRun, error) {
	run := OptimizerRun{Optimizer: t.name, Rate: t.rate}
	rotation, err := drawRotation(spec, o.RotationOptions)
	if err != nil {
		return run, err
	}
	var pair [2]*learner.Learner
	for i, r := range []*Rotation{{}, rotation} {
		if pair[i], err = t.learner(model, spec, ids, r, o.Threads); err != nil {
			return run, err
		}
		defer pair[i].Close()
	}
	for s := range o.Steps + 1 {
		if err := run.compare(ctx, pair); err != nil {
			return run, err
		}
		for _, l := range pair {
			if s == o.Steps {
				break
			}
			if err := t.update(l); err != nil {
				return run, err
			}
		}
	}
	return run, nil
}

// learner compiles a rotated copy of a model, on the row ids[:n-1] with targets ids[1:].
func (t training) learner(model *graph.Store, spec models.Spec, ids []int32, r *Rotation, threads int) (*learner.Learner, error) {
	store, err := copyModel(model, spec)
	if err != nil {
		return nil, err
	}
	if err := r.apply(store, model, rotatableSpaces(spec)); err != nil {
		return nil, err
	}
	last := len(ids) - 1
	l, err := learner.New(spec, learner.Fixed(ids[:last], ids[1:]), learner.Options{
		Seq: last, Outputs: models.Outputs{Logits: true},
		Compute: graph.Options{Store: store, Threads: threads}, Optimizer: t.parts,
	})
	return l, errors.Wrap(err, "optimizers")
}

// update changes a model's weights by the gradients that compare has made.
func (t training) update(l *learner.Learner) error {
	_, err := l.Update()
	if err == nil && !t.gains {
		resetGains(l.Program().Store())
	}
	return err
}

// compare runs both models and notes their losses and how far their logits are apart.
func (r *OptimizerRun) compare(ctx context.Context, pair [2]*learner.Learner) error {
	var losses [2]float64
	var logits [2][]float64
	for i, l := range pair {
		var err error
		if losses[i], err = l.Gradient(ctx); err != nil {
			return err
		}
		values, err := graph.Value(l.Program().Logits)
		if err != nil {
			return err
		}
		logits[i] = graph.Float64s(values)
		if err := checkFinite(r.Optimizer+": logits", logits[i]); err != nil {
			return err
		}
	}
	r.Loss, r.Rotated = append(r.Loss, losses[0]), append(r.Rotated, losses[1])
	r.Deviation = append(r.Deviation, relativeDeviation(logits[1], logits[0]))
	return nil
}
