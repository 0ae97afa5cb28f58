package graph

import (
	"github.com/residua-go/residua/graph/cuda"
)

// MemoryNeed is what a program takes of a machine's or a CUDA device's memory, in bytes.
type MemoryNeed struct {
	Parameters  int `json:"parameters"`  // values, and in precision BF16 their 16-bit copies
	Gradients   int `json:"gradients"`   // of the parameters
	Moments     int `json:"moments"`     // of the optimizer
	Activations int `json:"activations"` // the shared buffers of all outputs
	Saved       int `json:"saved"`       // on a device: what ops keep in addition to their outputs, from the forward pass for the backward pass
	Scratch     int `json:"scratch"`     // on a device, and on the CPU in precision BF16: the largest need of one op while it runs
}

// Total returns the sum; on a device, context, kernels and cuBLAS come on top.
func (m MemoryNeed) Total() int {
	return m.Parameters + m.Gradients + m.Moments + m.Activations + m.Saved + m.Scratch
}

// PredictMemory returns what a program of o's device, precision, differentiation and
// recomputation would take of the device's or, on the CPU, of the machine's memory. Nothing
// is allocated, and a device need not be there: it makes the same plan and stops.
func PredictMemory(o ProgramOptions, build BuildFunc) (MemoryNeed, error) {
	o.Store = NewPlan(dtypeOr32(o.DType))
	p := &Program{options: o, build: build}
	for _, s := range stages() {
		if s.name == stageMemory {
			break
		}
		if err := p.stage(s); err != nil {
			return MemoryNeed{}, err
		}
	}
	if p.builder.onDevice() {
		return p.deviceMemory(), nil
	}
	size := int(o.Store.dtype.Size())
	n := o.Store.Size() * size
	copies, scratch := p.halvesMemory()
	m := MemoryNeed{Parameters: n + copies, Activations: p.plan.bytes, Scratch: scratch}
	if o.Gradients {
		m.Gradients, m.Moments = n, p.options.shareOf(p.momentEntries()*size)
	}
	return m, nil
}

// moments is how many moments a parameter has.
func (o ProgramOptions) moments(p *Param) int {
	if o.Moments == nil {
		return 2
	}
	return o.Moments(p)
}

// shareOf is about what a rank keeps of the moments.
func (o ProgramOptions) shareOf(moments int) int {
	ranks := max(1, o.Ranks)
	return (moments + ranks - 1) / ranks
}

// momentEntries is the size of the moments of all parameters.
func (p *Program) momentEntries() int {
	n := 0
	for _, param := range p.options.Store.params {
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
		m.Gradients, m.Moments = n*cuda.F32.Size(), p.momentEntries()*cuda.F32.Size()
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
