package graph

import (
	"github.com/residua-go/residua/graph/cuda"
)

// MemoryNeed is the memory of a machine or a CUDA device that a program takes, in bytes.
type MemoryNeed struct {
	Parameters  int `json:"parameters"`  // values, and in precision BF16 their 16-bit copies
	Gradients   int `json:"gradients"`   // of all parameters
	Moments     int `json:"moments"`     // of the optimizer
	Activations int `json:"activations"` // the shared buffers of all outputs
	Saved       int `json:"saved"`       // on a device: what ops keep from the forward pass for the backward pass, in addition to their outputs
	Scratch     int `json:"scratch"`     // the largest need of one op while it runs
}

// Total returns the sum. A device also needs memory for its context, kernels and cuBLAS.
func (m MemoryNeed) Total() int {
	return m.Parameters + m.Gradients + m.Moments + m.Activations + m.Saved + m.Scratch
}

// PredictMemory returns the memory that a program with the options o would take on the device, or
// on the machine if it runs on the CPU. It makes the program's plan without allocating anything,
// and the device need not exist.
func PredictMemory(o ProgramOptions, build BuildFunc) (MemoryNeed, error) {
	plan := NewPlan(dtypeOr32(o.DType))
	if o.Store != nil {
		plan.adapters = o.Store.adapters
	}
	o.Store = plan
	p := &Program{options: o, build: build}
	if err := p.plannedStages(); err != nil {
		return MemoryNeed{}, err
	}
	if p.builder.OnDevice() {
		return p.deviceMemory(), nil
	}
	size := int(o.Store.dtype.Size())
	n := o.Store.Size() * size
	copies, scratch := p.hostMemory()
	m := MemoryNeed{Parameters: n + copies, Activations: p.plan.bytes, Scratch: scratch}
	if o.Gradients {
		m.Gradients, m.Moments = o.Store.TrainedSize()*size, p.options.shareOf(p.momentEntries()*size)
	}
	return m, nil
}

// hostMemory returns the memory that parameters' copies in precision BF16 take on the CPU, and the
// largest need of one op while it runs.
func (p *Program) hostMemory() (copies, scratch int) {
	copies, scratch = p.halvesMemory()
	for _, n := range p.plan.order {
		if op := opOf(n); op != nil {
			if k, ok := op.Primitive.(HostByteCounter); ok {
				scratch = max(scratch, k.HostBytes(Cost{op: op}))
			}
		}
	}
	return copies, scratch
}

// moments returns the number of moments that the optimizer keeps for p.
func (o ProgramOptions) moments(p *Param) int {
	if o.Moments == nil {
		return 2
	}
	return o.Moments(p)
}

// shareOf returns roughly how many of the moments one rank keeps.
func (o ProgramOptions) shareOf(moments int) int {
	ranks := max(1, o.Ranks)
	return (moments + ranks - 1) / ranks
}

// momentEntries returns the number of entries of all parameters' moments.
func (p *Program) momentEntries() int {
	n := 0
	for _, param := range p.options.Store.Trained() {
		n += param.Size() * p.options.moments(param)
	}
	return n
}

func (p *Program) deviceMemory() MemoryNeed {
	n := p.options.Store.Size()
	m := MemoryNeed{Parameters: n * cuda.F32.Size(), Activations: p.plan.bytes}
	if p.builder.options.Precision == BF16 {
		m.Parameters += n * cuda.BF16.Size()
	}
	if p.options.Gradients {
		m.Gradients, m.Moments = p.options.Store.TrainedSize()*cuda.F32.Size(), p.momentEntries()*cuda.F32.Size()
	}
	for _, node := range p.builder.g.AllNodes() {
		op := opOf(node)
		if op == nil {
			continue
		}
		if k, ok := op.Primitive.(DeviceByteCounter); ok {
			saved, scratch := k.DeviceBytes(Cost{op: op})
			m.Saved, m.Scratch = m.Saved+saved, max(m.Scratch, scratch)
		}
	}
	return m
}
