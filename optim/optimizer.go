package optim

import (
	"math"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Optimizer updates every parameter of a Store from its gradient:
//
//	g <- g * min(1, clip/|g|)                      |g| over all parameters
//	w <- w - schedule * (rate * u + decay * w)     u: what the rule of the parameter's group makes of g
//
// where rate is the peak rate, with muP divided by the rule's WidthDivisor, and decay is the
// decay rate (independent) or the decay rate times rate (coupled, Loshchilov & Hutter 2019 as
// PyTorch computes it). It is not safe for concurrent use.
type Optimizer struct {
	store     *graph.Store
	rows      []Row
	groups    []group
	clip      float64 // 0: none
	schedule  Schedule
	precision graph.Precision // of matrix products
	steps     int             // taken so far
	pool      *kernel.Pool
	norm      normKernels
	shards    Shards
	buckets   [][]Piece
	device    graph.DeviceOptimizer // does it all where the store lives on a device; else nil
}

// Row says how one parameter is updated.
type Row struct {
	Param               *graph.Param
	Rule                Rule
	Rate                float64 // peak learning rate
	Decay               float64 // times the schedule and the weight
	From, To            int     // the range of the parameter's entries, in row-major order, that this optimizer updates; see Shard
	decays, independent bool
	muP                 bool
}

type normKernels struct {
	f32 kernel.GlobalNorm[float32]
	f64 kernel.GlobalNorm[float64]
}

// New composes an optimizer over all parameters of a store. threads is the number of workers; it
// does not change the result in any bit. Without parts the optimizer is Adam with betas 0.9 and
// 0.999, eps 1e-8 and learning rate 1e-3.
func New(store *graph.Store, threads int, parts ...Part) (*Optimizer, error) {
	o := &Optimizer{store: store, schedule: Constant{}, pool: kernel.NewPool(threads)}
	if err := o.compose(parts); err != nil {
		o.Close()
		return nil, errors.Wrap(err, "optim")
	}
	return o, nil
}

// compose makes the rows, lets the parts configure them, and then does what depends on all parts.
func (o *Optimizer) compose(parts []Part) error {
	adam := &adamW{beta1: 0.9, beta2: 0.999, eps: 1e-8}
	for _, p := range o.store.Trained() {
		o.rows = append(o.rows, Row{Param: p, Rule: adam, Rate: 1e-3})
	}
	if len(o.rows) == 0 {
		return errors.New("want a store with parameters to train, got none: build the model first")
	}
	if err := configure(o, parts); err != nil {
		return err
	}
	for i := range o.rows {
		if err := o.rows[i].finish(); err != nil {
			return err
		}
	}
	if err := o.share(); err != nil {
		return err
	}
	for i := range o.rows {
		if err := o.makeState(&o.rows[i]); err != nil {
			return err
		}
	}
	if err := o.openGroups(); err != nil {
		return err
	}
	return o.openDevice()
}

// makeState makes the moments of a row's entries.
func (o *Optimizer) makeState(r *Row) error {
	n := len(r.Rule.State())
	for _, m := range []*tensor.Dense{r.Param.Moment1, r.Param.Moment2}[:n] {
		if m != nil && m.DataSize() != r.To-r.From {
			return errors.Errorf("parameter %q: want moments of %d entries, got %d that another optimizer has left: use another store", r.Param.Name, r.To-r.From,
				m.DataSize())
		}
	}
	switch {
	case n == 0 || r.From == r.To:
	case r.To-r.From == r.Param.Size():
		return o.store.EnsureMoments(r.Param, n)
	default:
		return o.store.EnsureMomentShard(r.Param, n, r.To-r.From)
	}
	return nil
}

// finish computes the learning rates once all parts are known.
func (r *Row) finish() error {
	if ratio := r.Param.WidthRatio; r.muP && ratio != 0 {
		divisor, err := r.Rule.WidthDivisor(ratio)
		if err != nil {
			return err
		}
		r.Rate /= divisor
	}
	if r.decays && !r.independent {
		r.Decay *= r.Rate
	}
	return nil
}

// Table returns the rows in the order of the store's parameters.
func (o *Optimizer) Table() []Row { return o.rows }

// Pool returns the workers, which the optimizer closes.
func (o *Optimizer) Pool() *kernel.Pool { return o.pool }

// Steps returns the number of updates made, which is the step that the schedule is at.
func (o *Optimizer) Steps() int { return o.steps }

// SetSteps sets the number of updates made, after a checkpoint has restored the state in the
// Store.
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
		return o.stepOnDevice(gradScale, nil)
	}
	sum, err := o.SumSquares()
	if err != nil {
		return Stats{}, err
	}
	return o.Update(sum, gradScale)
}

// Update finishes a step once the norm is known: sumSquares is the sum over all ranks of what
// SumSquares returned, added in the order of the ranks.
func (o *Optimizer) Update(sumSquares, gradScale float64) (Stats, error) {
	if o.device != nil {
		sum := sumSquares // a copy, so that the argument does not escape to the heap on the CPU
		return o.stepOnDevice(gradScale, &sum)
	}
	s := Stats{GradNorm: math.Sqrt(sumSquares) * math.Abs(gradScale), Factor: o.schedule.Factor(o.steps)}
	if math.IsNaN(s.GradNorm) || math.IsInf(s.GradNorm, 0) {
		return s, nil
	}
	s.Finite = true
	if o.clip > 0 && s.GradNorm > o.clip {
		gradScale *= o.clip / s.GradNorm
	}
	o.steps++
	for _, g := range o.groups {
		g.rule.Update(g.rows, Now{Pool: o.pool, Factor: s.Factor, GradScale: gradScale, Step: o.steps, Precision: o.precision})
	}
	return s, nil
}

// SumSquares returns the sum of the squares of the gradients as they are stored, over the entries
// that this optimizer updates.
func (o *Optimizer) SumSquares() (float64, error) {
	if o.device != nil {
		return o.device.SumSquares()
	}
	for _, r := range o.rows {
		grad := r.Param.Grad
		switch {
		case grad == nil:
			o.norm = normKernels{}
			return 0, errors.Errorf("optim: parameter %q: want a gradient, got none: run a program with Gradients first", r.Param.Name)
		case r.From == r.To:
		case grad.Dtype() == tensor.Float64:
			o.norm.f64.Add(grad.Float64s()[r.From:r.To])
		default:
			o.norm.f32.Add(grad.Float32s()[r.From:r.To])
		}
	}
	return o.norm.f64.SumSquares(o.pool) + o.norm.f32.SumSquares(o.pool), nil
}

// Close ends the optimizer's workers and gives back its memory on a device.
func (o *Optimizer) Close() {
	o.pool.Close()
	if o.device != nil {
		_ = o.device.Close()
		o.device = nil
	}
}
