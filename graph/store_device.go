package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// resident is a parameter's memory on a Store's device.
type resident struct {
	value            cuda.Array // F32
	shadow           cuda.Array // BF16 copy of value, in precision bf16
	grad             cuda.Array // F32
	moment1, moment2 cuda.Array // F32
}

// open opens the device for the Store. Programs over one Store share it.
func (s *Store) open(where Device, p Precision) error {
	index, _ := where.GPU()
	switch {
	case s.device == nil:
	case s.gpu != index:
		return errors.Errorf("graph: device: the store's is %q, want that, got %q: use another store", GPU(s.gpu), where)
	case s.device.Precision() != p:
		return errors.Errorf("graph: precision: the store's device works in %q, want that, got %q: use another store", s.device.Precision(), p)
	default:
		return nil
	}
	if s.dtype != tensor.Float32 {
		return errors.Errorf("graph: device %s: want parameters of float32, got %v: float64 is for checks on the CPU", CUDA, s.dtype)
	}
	device, err := openAccelerator(index, p)
	s.device, s.gpu = device, index
	return err
}

// OnDevice tells whether the parameters live on a device; the host's tensors are then copies, which
// ToHost updates.
func (s *Store) OnDevice() bool { return s.device != nil }

// Close frees the device and its memory, if there is one. Close programs and optimizers of the
// Store first.
func (s *Store) Close() error {
	if s.device == nil {
		return nil
	}
	for _, p := range s.params {
		for _, a := range p.resident.arrays() {
			s.device.Free(a)
		}
		p.resident = resident{}
	}
	err := s.device.Close()
	s.device = nil
	return err
}

// arrays lists p's arrays on the device.
func (r resident) arrays() []cuda.Array {
	return []cuda.Array{r.value, r.shadow, r.grad, r.moment1, r.moment2}
}

// placeOnDevice makes sure that p's value is on the device.
func (s *Store) placeOnDevice(p *Param) error {
	if !p.resident.value.None() {
		return nil
	}
	if err := s.allocate(p, cuda.F32, p.Size(), &p.resident.value); err != nil {
		return err
	}
	if s.device.Precision() == BF16 {
		if err := s.allocate(p, cuda.BF16, p.Size(), &p.resident.shadow); err != nil {
			return err
		}
	}
	return s.upload(p)
}

// residentGrad returns p's gradient on the device, allocating it if necessary.
func (s *Store) residentGrad(p *Param) (cuda.Array, error) {
	if p.resident.grad.None() {
		if err := s.allocate(p, cuda.F32, p.Size(), &p.resident.grad); err != nil {
			return cuda.Array{}, err
		}
	}
	return p.resident.grad, nil
}

// planMoments does what residentMoments does for a Store that only plans, which has no moments on
// the host.
func (s *Store) planMoments(p *Param, n int) error {
	r := &p.resident
	for _, array := range []*cuda.Array{&r.moment1, &r.moment2}[:n] {
		if err := s.allocate(p, cuda.F32, p.Size(), array); err != nil {
			return err
		}
	}
	return nil
}

// residentMoments makes sure that p's moments on the host are also on the device.
func (s *Store) residentMoments(p *Param) error {
	r := &p.resident
	fresh := false
	for _, m := range []struct {
		host  *tensor.Dense
		array *cuda.Array
	}{{p.Moment1, &r.moment1}, {p.Moment2, &r.moment2}} {
		if m.host == nil || !m.array.None() {
			continue
		}
		if err := s.allocate(p, cuda.F32, m.host.DataSize(), m.array); err != nil {
			return err
		}
		fresh = true
	}
	if !fresh {
		return nil
	}
	return s.uploadMoments(p)
}

func (s *Store) allocate(p *Param, t cuda.Type, n int, to *cuda.Array) (err error) {
	*to, err = s.device.Alloc(t, n)
	return errors.Wrapf(err, "parameter %q", p.Name)
}

func (s *Store) upload(p *Param) error {
	if s.mode == plans {
		return nil
	}
	r := p.resident
	if err := s.copyUp(p, r.value, p.Value); err != nil {
		return errors.Wrapf(err, "parameter %q", p.Name)
	}
	if r.shadow.None() {
		return nil
	}
	return errors.Wrapf(s.device.Convert(r.shadow, r.value), "parameter %q", p.Name)
}

func (s *Store) uploadMoments(p *Param) error {
	for _, m := range p.moments() {
		if err := s.copyUp(p, m.array, m.host); err != nil {
			return errors.Wrapf(err, "moments of parameter %q", p.Name)
		}
	}
	return nil
}

// mirrored is memory on the device together with its copy on the host.
type mirrored struct {
	array cuda.Array
	host  *tensor.Dense
}

// moments lists p's moments that exist both on the host and on the device.
func (p *Param) moments() []mirrored {
	var both []mirrored
	for _, m := range []mirrored{{p.resident.moment1, p.Moment1}, {p.resident.moment2, p.Moment2}} {
		if !m.array.None() && m.host != nil {
			both = append(both, m)
		}
	}
	return both
}

// ToDevice copies the host's values and moments to the device. Call it after writing them, as when
// a checkpoint is loaded or a weight is set by hand. On the CPU it does nothing.
func (s *Store) ToDevice() error {
	if s.device == nil {
		return nil
	}
	for _, p := range s.params {
		if p.resident.value.None() {
			continue // the first program that has it will place it
		}
		if err := s.upload(p); err != nil {
			return err
		}
		if err := s.uploadMoments(p); err != nil {
			return err
		}
	}
	return nil
}

// ToHost copies values and moments from the device into the host's tensors. Call it before reading
// them, as for a checkpoint. On the CPU it does nothing.
func (s *Store) ToHost() error {
	if s.device == nil {
		return nil
	}
	for _, p := range s.params {
		if p.resident.value.None() {
			continue
		}
		for _, m := range append(p.moments(), mirrored{p.resident.value, p.Value}) {
			if err := s.copyDown(p, m.host, m.array); err != nil {
				return errors.Wrapf(err, "parameter %q", p.Name)
			}
		}
	}
	return nil
}

// GradientsToHost copies the gradients from the device into Param.Grad. On the CPU it does nothing:
// they are there already.
func (s *Store) GradientsToHost() error {
	if s.device == nil {
		return nil
	}
	for _, p := range s.params {
		if p.resident.grad.None() {
			continue
		}
		if err := s.copyDown(p, s.ensureGrad(p), p.resident.grad); err != nil {
			return errors.Wrapf(err, "gradient of parameter %q", p.Name)
		}
	}
	return nil
}

// DeviceMemory returns the free and the total memory of the Store's device in bytes, 0 on the CPU.
func (s *Store) DeviceMemory() (free, total int64, err error) {
	if s.device == nil {
		return 0, 0, nil
	}
	return s.device.Memory()
}
