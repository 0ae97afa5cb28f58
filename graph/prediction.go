package graph

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda"
)

// DeviceMemory is what a program takes of a CUDA device, in bytes.
type DeviceMemory struct {
	Parameters  int `json:"parameters"`  // values, and in precision bf16 their 16-bit copies
	Gradients   int `json:"gradients"`   // of the parameters
	Moments     int `json:"moments"`     // of AdamW
	Activations int `json:"activations"` // the shared buffers of all outputs
	Saved       int `json:"saved"`       // what ops keep beside their outputs, from the forward pass for the backward pass
	Scratch     int `json:"scratch"`     // the largest need of one op while it runs
}

// Total returns the sum; context, kernels and cuBLAS come on top.
func (m DeviceMemory) Total() int {
	return m.Parameters + m.Gradients + m.Moments + m.Activations + m.Saved + m.Scratch
}

// deviceNeeds is a kind that takes device memory beside its output: saved from run to run,
// scratch while it runs. Both in bytes.
type deviceNeeds interface {
	deviceNeeds(op *Op) (saved, scratch int)
}

// PredictDeviceMemory returns what a program of o's precision, differentiation and
// recomputation would take on a CUDA device. It needs neither a device nor a build for
// one: it makes the same plan and stops there.
func PredictDeviceMemory(o ProgramOptions, build BuildFunc) (DeviceMemory, error) {
	o.Device, o.planned = CUDA, true
	o.Store = &Store{dtype: dtypeOr32(o.DType), byName: map[string]*Param{}, planned: true}
	p := &Program{options: o, build: build}
	for _, s := range stages() {
		if s.name == stageBind {
			break
		}
		if err := s.run(p); err != nil {
			return DeviceMemory{}, errors.Wrapf(err, "graph: %s", s.name)
		}
	}
	return p.deviceMemory(), nil
}

func (p *Program) deviceMemory() DeviceMemory {
	n := p.options.Store.Size()
	m := DeviceMemory{Parameters: n * cuda.F32.Size(), Activations: p.plan.bytes}
	if p.builder.options.Precision == BF16 {
		m.Parameters += n * cuda.BF16.Size()
	}
	if p.options.Gradients {
		m.Gradients, m.Moments = n*cuda.F32.Size(), 2*n*cuda.F32.Size()
	}
	for _, node := range p.builder.g.AllNodes() {
		op := opOf(node)
		if op == nil {
			continue
		}
		if k, ok := op.kind.(deviceNeeds); ok {
			saved, scratch := k.deviceNeeds(op)
			m.Saved, m.Scratch = m.Saved+saved, max(m.Scratch, scratch)
		}
	}
	return m
}
