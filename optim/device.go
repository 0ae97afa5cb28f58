package optim

import (
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// DeviceRule is a Rule that the kernels of a device can compute: those of AdamW, with State of two
// names, or those of Muon, with one.
type DeviceRule interface {
	Rule
	// OnDevice writes the rule's settings into the row of a parameter.
	OnDevice(row *graph.UpdateRow)
}

// openDevice gives the table to the store's device, if the store lives on one.
func (o *Optimizer) openDevice() (err error) {
	if !o.store.OnDevice() {
		return nil
	}
	var rows []graph.UpdateRow
	var momentum *float64 // of Muon
	for _, r := range o.rows {
		rule, ok := r.Rule.(DeviceRule)
		if !ok {
			return errors.Errorf("parameter %q: want a rule that a device computes, such as AdamW or Muon, got %v: train on the CPU", r.Param.Name, r.Rule)
		}
		row := graph.UpdateRow{Param: r.Param, From: r.From, To: r.To, Rate: r.Rate, Decay: r.Decay}
		rule.OnDevice(&row)
		if m := row.Muon; m != nil {
			if momentum == nil {
				momentum = &m.Momentum
			}
			if *momentum != m.Momentum {
				return errors.Errorf("parameter %q: want one momentum of Muon on a device, got %g and %g: use one for all groups", r.Param.Name, *momentum, m.Momentum)
			}
		}
		if r.From < r.To {
			rows = append(rows, row)
		}
	}
	o.device, err = o.store.NewDeviceOptimizer(rows)
	return err
}

// stepOnDevice makes a step on a device, which computes the norm, clips and updates, and
// decides itself whether the gradient is finite, so that nothing waits for the host. With
// several ranks, sumSquares is the sum over all of them.
func (o *Optimizer) stepOnDevice(gradScale float64, sumSquares *float64) (Stats, error) {
	factor := o.schedule.Factor(o.steps)
	norm, finite, err := o.device.Step(graph.UpdateStep{Factor: factor, GradScale: gradScale, Clip: o.clip, Step: o.steps + 1, SumSquares: sumSquares})
	if err != nil {
		return Stats{}, err
	}
	if finite {
		o.steps++
	}
	return Stats{GradNorm: math.Abs(norm), Factor: factor, Finite: finite}, nil
}
