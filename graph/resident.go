package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// parameter is an op without inputs whose output is a parameter that lies on a device.
type parameter struct {
	NoGradient
	param *Param
}

func (k parameter) String() string {
	return fmt.Sprintf("Param(%s) %v", k.param.Name, k.param.deviceShape())
}

func (k parameter) Infer([]Signature) (Signature, error) {
	return Signature{tensor.Float32, k.param.deviceShape()}, nil
}

func (k parameter) Run(c *Call) {
	c.Fail(errors.Errorf("parameter %q lives on a device: want no run on the CPU", k.param.Name))
}

// residentNode makes a parameter's node for a device. It adds the node to the graph itself, because
// gorgonia.ApplyOp refuses an op without inputs.
func (b *Builder) residentNode(p *Param, transposed bool) (*gorgonia.Node, error) {
	if err := p.transposeOnDevice(transposed); err != nil {
		return nil, err
	}
	if b.options.Store.OnDevice() {
		if err := b.options.Store.placeOnDevice(p); err != nil {
			return nil, err
		}
	}
	op, err := newOp(b, parameter{param: p}, nil, nil)
	if err != nil {
		return nil, err
	}
	op.keepsFloat32, op.device = true, p.resident.value
	carrier, err := b.graphOp(op)
	if err != nil {
		return nil, err
	}
	return gorgonia.NewUniqueNode(gorgonia.In(b.g), gorgonia.WithOp(carrier), gorgonia.WithType(op.out.hmType()),
		gorgonia.WithShape(p.deviceShape()...), gorgonia.WithName(p.Name)), nil
}
