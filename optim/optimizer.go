package optim

import (
	"math"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Optimizer updates every parameter of a Store from its gradient. With all parts:
//
//	g <- g * min(1, clip/|g|)                      |g| over all parameters
//	m <- b1 m + (1-b1) g;  v <- b2 v + (1-b2) g^2  mhat, vhat bias-corrected
//	w <- w - schedule * (rate * mhat/(sqrt(vhat)+eps) + decay * w)
//
// where rate is the peak rate over the parameter's width ratio, and decay is the decay
// rate (independent) or rate times it (coupled, Loshchilov & Hutter 2019 as PyTorch
// computes it). It is not safe for concurrent use.
type Optimizer struct {
	store    *graph.Store
	rows     []Row
	clip     float64 // 0: none
	schedule Schedule
	sgd      bool // in Adam's place
	steps    int  // taken so far
	pool     *kernel.Pool
	norm     normKernels
	adam     adamKernels
	device   graph.DeviceOptimizer // does it all where the store lives on a device; else nil
}

// Row is how one parameter is updated.
type Row struct {
	Param               *graph.Param
	Rate                float64 // peak learning rate
	Decay               float64 // times the schedule and the weight
	Beta1, Beta2, Eps   float64
	decays, independent bool
	divisor             float64 // muP: of the rate; 0 means 1
}

type normKernels struct {
	f32 kernel.GlobalNorm[float32]
	f64 kernel.GlobalNorm[float64]
}

type adamKernels struct {
	f32 kernel.AdamW[float32]
	f64 kernel.AdamW[float64]
}

// Part configures an Optimizer.
type Part func(*Optimizer) error

// New composes an optimizer over all parameters of a store. threads is the number of
// workers; it changes no bit. Without parts it is Adam with betas .9 and .999, eps 1e-8, rate 1e-3.
func New(store *graph.Store, threads int, parts ...Part) (*Optimizer, error) {
	o := &Optimizer{store: store, schedule: Constant{}, pool: kernel.NewPool(threads)}
	for _, p := range store.Params() {
		o.rows = append(o.rows, Row{Param: p, Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
	}
	if len(o.rows) == 0 {
		return nil, errors.New("optim: want a store with parameters, got an empty one: build the model first")
	}
	for _, part := range parts {
		if err := part(o); err != nil {
			o.Close()
			return nil, errors.Wrap(err, "optim")
		}
	}
	if err := o.finish(); err != nil {
		o.Close()
		return nil, errors.Wrap(err, "optim")
	}
	return o, nil
}

// finish does what needs all parts, in whatever order they came.
func (o *Optimizer) finish() error {
	for i := range o.rows {
		r := &o.rows[i]
		if o.sgd && r.divisor != 0 {
			return errors.New("sgd: want no muP with it, whose rates are Adam's: use one of the two")
		}
		r.finish()
		if o.sgd {
			continue
		}
		if err := o.store.EnsureMoments(r.Param); err != nil {
			return err
		}
	}
	return o.openDevice()
}

// finish computes the rates from all parts.
func (r *Row) finish() {
	if r.divisor != 0 {
		r.Rate /= r.divisor
	}
	if r.decays && !r.independent {
		r.Decay *= r.Rate
	}
}

// Table returns the rows in the order of the store's parameters.
func (o *Optimizer) Table() []Row { return o.rows }

// Steps returns the number of updates made; it is the step that the schedule is at.
func (o *Optimizer) Steps() int { return o.steps }

// SetSteps restores the count, with the moments in the Store, from a checkpoint.
func (o *Optimizer) SetSteps(n int) { o.steps = n }

// Stats say what a step did.
type Stats struct {
	GradNorm float64 // over all parameters, before clipping
	Factor   float64 // of the schedule
	Finite   bool    // false: the gradient had a NaN or an infinity, nothing was changed
}

// Step updates all parameters. gradScale multiplies the stored gradients first: 1/N
// after accumulating N micro-batches. A non-finite gradient changes nothing and counts
// no step.
func (o *Optimizer) Step(gradScale float64) (Stats, error) {
	if o.device != nil {
		return o.stepOnDevice(gradScale)
	}
	norm, err := o.gradNorm()
	if err != nil {
		return Stats{}, err
	}
	s := Stats{GradNorm: norm * math.Abs(gradScale), Factor: o.schedule.Factor(o.steps)}
	if math.IsNaN(s.GradNorm) || math.IsInf(s.GradNorm, 0) {
		return s, nil
	}
	s.Finite = true
	if o.clip > 0 && s.GradNorm > o.clip {
		gradScale *= o.clip / s.GradNorm
	}
	o.steps++
	update := o.update
	if o.sgd {
		update = o.descend
	}
	for i := range o.rows {
		update(&o.rows[i], s.Factor, gradScale)
	}
	return s, nil
}

// gradNorm is the global norm of the gradients as they are stored.
func (o *Optimizer) gradNorm() (float64, error) {
	sum := 0.0
	for _, r := range o.rows {
		grad := r.Param.Grad
		switch {
		case grad == nil:
			return 0, errors.Errorf("optim: parameter %q: want a gradient, got none: run a program with Gradients first", r.Param.Name)
		case grad.Dtype() == tensor.Float64:
			sum += o.norm.f64.SumSquares(o.pool, grad.Float64s())
		default:
			sum += o.norm.f32.SumSquares(o.pool, grad.Float32s())
		}
	}
	return math.Sqrt(sum), nil
}

func (o *Optimizer) update(r *Row, factor, gradScale float64) {
	p := r.Param
	d := kernel.AdamWParams{LR: factor * r.Rate, Beta1: r.Beta1, Beta2: r.Beta2, Eps: r.Eps, Decay: factor * r.Decay,
		Step: o.steps, GradScale: gradScale}
	if p.Value.Dtype() == tensor.Float64 {
		o.adam.f64.Run(o.pool, p.Value.Float64s(), p.Grad.Float64s(), p.Moment1.Float64s(), p.Moment2.Float64s(), d)
		return
	}
	o.adam.f32.Run(o.pool, p.Value.Float32s(), p.Grad.Float32s(), p.Moment1.Float32s(), p.Moment2.Float32s(), d)
}

// Close ends the optimizer's workers and gives back its memory on a device.
func (o *Optimizer) Close() {
	o.pool.Close()
	if o.device != nil {
		_ = o.device.Close()
		o.device = nil
	}
}
