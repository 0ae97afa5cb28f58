package graph

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda"
)

// UpdateRow says how an optimizer updates one parameter on a device.
type UpdateRow struct {
	Param             *Param
	From, To          int     // the range of its entries that is updated, in the order of the device's memory
	Rate, Decay       float64 // peak learning rate; weight decay, to be multiplied by the schedule's factor and the weight
	Beta1, Beta2, Eps float64
	Muon              *MuonRow // settings of Muon; nil: AdamW updates the parameter
}

// MuonRow holds what Muon needs in addition to the rate and the decay.
type MuonRow struct {
	Momentum float64   // the same for all rows
	Scales   []float64 // factors of the rate, one for each of Param.Matrices
}

// UpdateStep holds what changes from step to step.
type UpdateStep struct {
	Factor    float64 // the schedule's factor of the rate
	GradScale float64 // factor for the stored gradients
	Clip      float64 // largest allowed norm of the scaled gradients; 0: no limit
	Step      int     // this update's number, from 1
	// SumSquares is the sum of the squares of the stored gradients, over the optimizers of all
	// ranks; nil: this optimizer's alone, which the device computes.
	SumSquares *float64
}

// DeviceOptimizer updates parameters of a Store on its device.
type DeviceOptimizer interface {
	// SumSquares returns the sum of the squares of the stored gradients in the optimizer's rows.
	SumSquares() (float64, error)
	// Step clips the gradients by their global norm and updates the parameters by AdamW or Muon. If
	// the norm is not finite, nothing changes. norm is the norm of the scaled gradients before
	// clipping.
	Step(s UpdateStep) (norm float64, finite bool, err error)
	Close() error
}

// deviceOptimizer implements DeviceOptimizer by cuda.AdamW, with cuda.Muon for the rows that ask
// for it.
type deviceOptimizer struct{ adam *cuda.AdamW }

// NewDeviceOptimizer returns the optimizer of the Store's device. A row that updates only some
// of a parameter's entries has moments for those entries only.
func (s *Store) NewDeviceOptimizer(rows []UpdateRow) (DeviceOptimizer, error) {
	device := s.device
	if device == nil {
		return nil, errors.New("graph: want a store on a device: build a program with Options.Device first")
	}
	table := make([]cuda.AdamWRow, len(rows))
	var matrices []cuda.MuonMatrix
	momentum := 0.0
	for i, row := range rows {
		moments := 2
		if row.Muon != nil {
			moments, momentum = 1, row.Muon.Momentum
		}
		if err := s.rowMoments(row, moments); err != nil {
			return nil, err
		}
		if _, err := s.residentGrad(row.Param); err != nil {
			return nil, err
		}
		r, n := row.Param.resident, row.To-row.From
		table[i] = cuda.AdamWRow{Value: r.value.Slice(row.From, n), Grad: r.grad.Slice(row.From, n), Moment1: r.moment1, Moment2: r.moment2,
			Rate: row.Rate, Decay: row.Decay, Beta1: row.Beta1, Beta2: row.Beta2, Eps: row.Eps}
		if !r.shadow.None() {
			table[i].Shadow = r.shadow.Slice(row.From, n)
		}
		if row.Muon != nil {
			table[i].Moment2 = cuda.Array{}
			matrices = append(matrices, muonMatrices(row)...)
		}
	}
	adam, err := cuda.NewAdamW(device, table)
	if err == nil && matrices != nil {
		if adam.Muon, err = cuda.NewMuon(device, momentum, matrices); err != nil {
			_ = adam.Close()
		}
	}
	if err != nil {
		return nil, errors.Wrap(err, "graph: optimizer")
	}
	return &deviceOptimizer{adam}, nil
}

// rowMoments makes the moments of a row's entries.
func (s *Store) rowMoments(row UpdateRow, n int) error {
	if entries := row.To - row.From; entries < row.Param.Size() {
		return s.EnsureMomentShard(row.Param, n, entries)
	}
	return s.EnsureMoments(row.Param, n)
}

// muonMatrices returns the weight matrices of a row, as they lie on the device.
func muonMatrices(row UpdateRow) []cuda.MuonMatrix {
	var all []cuda.MuonMatrix
	r := row.Param.resident
	for i, m := range row.Param.Matrices() {
		if m.Offset < row.From || m.Offset >= row.To {
			continue
		}
		from := func(a cuda.Array) cuda.Array { return a.Slice(m.Offset, row.To-m.Offset) }
		at := cuda.MuonMatrix{Value: from(r.value), Grad: from(r.grad), Momentum: r.moment1.Slice(m.Offset-row.From, row.To-m.Offset), Rows: m.Rows,
			Columns: m.Columns, Stride: m.Stride,
			Rate: row.Rate * row.Muon.Scales[i], Decay: row.Decay}
		if !r.shadow.None() {
			at.Shadow = from(r.shadow)
		}
		all = append(all, at)
	}
	return all
}

func (o *deviceOptimizer) Step(s UpdateStep) (norm float64, finite bool, err error) {
	return o.adam.Step(cuda.AdamWStep{Factor: s.Factor, GradScale: s.GradScale, Clip: s.Clip, Step: s.Step, SumSquares: s.SumSquares})
}

func (o *deviceOptimizer) SumSquares() (float64, error) { return o.adam.SumSquares() }

func (o *deviceOptimizer) Close() error { return o.adam.Close() }
