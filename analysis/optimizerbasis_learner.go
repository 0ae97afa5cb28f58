package analysis

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// contender is one optimizer to compare.
type contender struct {
	name  string
	rate  float64
	gains bool         // are trained; otherwise they stay 1
	parts []optim.Part // of package optim's; nil: plain SGD
}

func (o OptimizerOptions) contenders() []contender {
	adam := []optim.Part{optim.Adam(0.9, 0.95, 1e-8), optim.Rate(o.AdamRate, optim.Constant{})}
	return []contender{
		{name: "SGD", rate: o.SGDRate},
		{name: "SGD, gains trained", rate: o.SGDRate, gains: true},
		{name: "Adam", rate: o.AdamRate, parts: adam},
		{name: "AdamW", rate: o.AdamRate, parts: append(adam[:2:2], optim.Decay(0.1, optim.Coupled, nil))},
	}
}

// run trains both models with one optimizer.
func (k contender) run(model *graph.Store, c models.Spec, ids []int32, o OptimizerOptions) (OptimizerRun, error) {
	run := OptimizerRun{Optimizer: k.name, Rate: k.rate}
	rotation, err := drawRotation(c, o.RotationOptions)
	if err != nil {
		return run, err
	}
	var pair [2]*learner
	for i, r := range []*Rotation{{}, rotation} {
		if pair[i], err = k.learner(model, c, ids, r, o.Threads); err != nil {
			return run, err
		}
		defer pair[i].close()
	}
	for s := range o.Steps + 1 {
		if err := run.compare(pair); err != nil {
			return run, err
		}
		for _, l := range pair {
			if s == o.Steps {
				break
			}
			if err := l.step(); err != nil {
				return run, err
			}
		}
	}
	return run, nil
}

// compare runs both models and notes their losses and how far their logits are apart.
func (r *OptimizerRun) compare(pair [2]*learner) error {
	var losses [2]float64
	var logits [2][]float64
	for i, l := range pair {
		var err error
		if losses[i], logits[i], err = l.evaluate(); err != nil {
			return err
		}
		if err := checkFinite(r.Optimizer+": logits", logits[i]); err != nil {
			return err
		}
	}
	r.Loss, r.Rotated = append(r.Loss, losses[0]), append(r.Rotated, losses[1])
	r.Deviation = append(r.Deviation, relativeDeviation(logits[1], logits[0]))
	return nil
}

// learner is one of two models in training.
type learner struct {
	contender
	store     *graph.Store
	program   *models.Compiled
	optimizer *optim.Optimizer // nil: plain SGD
}

// learner compiles a turned copy of a model, on the row ids[:n-1] with targets ids[1:].
func (k contender) learner(model *graph.Store, c models.Spec, ids []int32, r *Rotation, threads int) (*learner, error) {
	l := &learner{contender: k}
	var err error
	if l.store, err = copyModel(model, c); err != nil {
		return nil, err
	}
	if err := r.turn(l.store, model, turnedSpaces(c)); err != nil {
		return nil, err
	}
	if err := l.compile(c, len(ids)-1, threads); err != nil {
		return nil, errors.Wrap(err, "analysis: optimizers")
	}
	copy(l.program.Tokens, ids)
	copy(l.program.Targets, ids[1:])
	if k.parts != nil {
		if l.optimizer, err = optim.New(l.store, threads, k.parts...); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

func (l *learner) compile(c models.Spec, seq, threads int) (err error) {
	o := graph.ProgramOptions{Gradients: true, Options: graph.Options{Store: l.store, DType: l.store.DType(), Threads: threads}}
	l.program, err = models.Compile(c, 1, seq, models.Outputs{Loss: true, Logits: true}, o)
	return err
}

// evaluate makes the gradients and returns the cross-entropy and the logits.
func (l *learner) evaluate() (float64, []float64, error) {
	if err := l.program.Run(graph.RunOptions{}); err != nil {
		return 0, nil, err
	}
	loss, _, err := loss.Parts(l.program.Roots().Loss)
	if err != nil {
		return 0, nil, err
	}
	logits, err := graph.Value(l.program.Logits)
	if err != nil {
		return 0, nil, err
	}
	return loss, graph.Float64s(logits), nil
}

// step updates the weights from the gradients of the last evaluate.
func (l *learner) step() error {
	if l.optimizer == nil {
		l.descend()
	} else if _, err := l.optimizer.Step(1); err != nil {
		return err
	}
	if l.gains {
		return nil
	}
	return resetGains(l.store)
}

// descend is plain SGD: w <- w - rate g.
func (l *learner) descend() {
	for _, p := range l.store.Params() {
		w := p.Value.Float64s()
		for i, g := range p.Grad.Float64s() {
			w[i] -= l.rate * g
		}
	}
}

func (l *learner) close() {
	if l.optimizer != nil {
		l.optimizer.Close()
	}
	l.program.Close()
}
