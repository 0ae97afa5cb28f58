//go:build cuda

package graph

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda"
)

// deviceOptimizer is cuda.AdamW as a DeviceOptimizer.
type deviceOptimizer struct{ adam *cuda.AdamW }

func newDeviceOptimizer(s *Store, rows []UpdateRow) (DeviceOptimizer, error) {
	device, ok := s.device.(*cuda.Device)
	if !ok {
		return nil, errors.New("graph: want a store on a device: build a program with Options.Device first")
	}
	table := make([]cuda.AdamWRow, len(rows))
	for i, row := range rows {
		p := row.Param
		if err := s.EnsureMoments(p, 2); err != nil {
			return nil, err
		}
		grad, err := s.residentGrad(p)
		if err != nil {
			return nil, err
		}
		r := p.resident
		table[i] = cuda.AdamWRow{Value: r.value, Shadow: r.shadow, Grad: grad, Moment1: r.moment1, Moment2: r.moment2,
			Rate: row.Rate, Decay: row.Decay, Beta1: row.Beta1, Beta2: row.Beta2, Eps: row.Eps}
	}
	adam, err := cuda.NewAdamW(device, table)
	if err != nil {
		return nil, errors.Wrap(err, "graph: optimizer")
	}
	return &deviceOptimizer{adam}, nil
}

func (o *deviceOptimizer) Step(s UpdateStep) (norm float64, finite bool, err error) {
	return o.adam.Step(cuda.AdamWStep{Factor: s.Factor, GradScale: s.GradScale, Clip: s.Clip, Step: s.Step})
}

func (o *deviceOptimizer) Close() error { return o.adam.Close() }
