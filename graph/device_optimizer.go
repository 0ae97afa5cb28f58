package graph

// UpdateRow is how an optimizer treats one parameter on a device.
type UpdateRow struct {
	Param             *Param
	Rate, Decay       float64 // peak rate; decay, times the schedule's factor and the weight
	Beta1, Beta2, Eps float64
	Muon              *MuonRow // in the place of AdamW; nil: AdamW
}

// MuonRow is what Muon needs in addition to rate and decay.
type MuonRow struct {
	Momentum float64   // one for all rows
	Scales   []float64 // of the rate, one for each of Param.Matrices
}

// UpdateStep is what changes from step to step.
type UpdateStep struct {
	Factor    float64 // of the schedule
	GradScale float64 // of the stored gradients
	Clip      float64 // largest norm of the scaled gradients; 0: none
	Step      int     // this update's number, from 1
}

// DeviceOptimizer updates all parameters of a Store on its device.
type DeviceOptimizer interface {
	// Step clips by the global norm and updates by AdamW or Muon. A norm that is not finite
	// changes nothing. The norm is that of the scaled gradients before clipping.
	Step(s UpdateStep) (norm float64, finite bool, err error)
	Close() error
}

// NewDeviceOptimizer returns the optimizer of the Store's device.
func (s *Store) NewDeviceOptimizer(rows []UpdateRow) (DeviceOptimizer, error) {
	return newDeviceOptimizer(s, rows)
}
