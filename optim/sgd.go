package optim

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// SGD takes the place of Adam: gradient descent without moments, on the CPU,
//
//	w <- w - schedule * (rate * g + decay * w)
//
// It does not go with MuP, whose rates are Adam's.
func SGD() Part {
	return func(o *Optimizer) error {
		if o.store.OnDevice() {
			return errors.New("sgd: want parameters on the CPU, got a store on a device: use Adam there")
		}
		o.sgd = true
		return nil
	}
}

// descend is SGD's update of one parameter.
func (o *Optimizer) descend(r *Row, factor, gradScale float64) {
	rate, decay := factor*r.Rate*gradScale, factor*r.Decay
	if r.Param.Value.Dtype() == tensor.Float64 {
		o.pool.Do(r.Param.Size(), &sgdTask[float64]{r.Param.Value.Float64s(), r.Param.Grad.Float64s(), rate, decay})
		return
	}
	o.pool.Do(r.Param.Size(), &sgdTask[float32]{r.Param.Value.Float32s(), r.Param.Grad.Float32s(), float32(rate), float32(decay)})
}

type sgdTask[T kernel.Float] struct {
	w, g        []T
	rate, decay T
}

// Part updates a share of the entries.
func (t *sgdTask[T]) Part(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		t.w[i] -= t.rate*t.g[i] + t.decay*t.w[i]
	}
}
