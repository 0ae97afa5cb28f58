package optim

import (
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// openDevice hands the table to the device that the store lives on, if it does.
func (o *Optimizer) openDevice() (err error) {
	if !o.store.OnDevice() {
		return nil
	}
	rows := make([]graph.UpdateRow, len(o.rows))
	for i, r := range o.rows {
		a, ok := r.Rule.(*adamW)
		if !ok {
			return errors.Errorf("parameter %q: want AdamW on a device, got %v: train on the CPU, or every parameter by AdamW", r.Param.Name, r.Rule)
		}
		rows[i] = graph.UpdateRow{Param: r.Param, Rate: r.Rate, Decay: r.Decay, Beta1: a.beta1, Beta2: a.beta2, Eps: a.eps}
	}
	o.device, err = o.store.NewDeviceOptimizer(rows)
	return err
}

// stepOnDevice is Step where norm, clipping and update are the device's: it decides itself
// whether the gradient is finite, so that nothing waits for the host.
func (o *Optimizer) stepOnDevice(gradScale float64) (Stats, error) {
	factor := o.schedule.Factor(o.steps)
	norm, finite, err := o.device.Step(graph.UpdateStep{Factor: factor, GradScale: gradScale, Clip: o.clip, Step: o.steps + 1})
	if err != nil {
		return Stats{}, err
	}
	if finite {
		o.steps++
	}
	return Stats{GradNorm: math.Abs(norm), Factor: factor, Finite: finite}, nil
}
