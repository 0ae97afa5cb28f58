//go:build cuda

package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// deviceOp wraps an Op so that the tape machine runs it on a GPU: a node whose op has CUDADo never
// runs on the CPU.
type deviceOp struct {
	*Op
	call DeviceCall
}

var _ gorgonia.CUDADoer = (*deviceOp)(nil)

func openAccelerator(gpu int, p Precision) (cuda.Executor, error) {
	device, err := cuda.Open(cuda.Options{Ordinal: gpu, Precision: p})
	if err != nil {
		return nil, errors.Wrap(err, "device cuda")
	}
	return device, nil
}

func openCommunicator(d cuda.Executor, id []byte, rank, ranks int) (cuda.Communicator, error) {
	device, ok := d.(*cuda.Device)
	if !ok {
		return nil, errors.Errorf("device cuda: want a GPU to join other ranks, got %T", d)
	}
	return device.Join(id, rank, ranks)
}

func newCommunicatorID() ([]byte, error) { return cuda.NewCommunicatorID() }

func pciBusIDs() ([]string, error) { return cuda.PCIBusIDs() }

// onDeviceOp wraps op for the device. An op that depends on the cache's rows stays on the CPU,
// where the rows are kept; it computes only one integer per token.
func (b *Builder) onDeviceOp(op *Op) (gorgonia.Op, error) {
	if op.onHost() {
		return op, nil
	}
	kind, ok := launcherOf(op.Primitive)
	if !ok {
		return nil, errors.Errorf("want an op with a Launch method on the device %s, got one that runs on the CPU alone: choose the device %s", CUDA, CPU)
	}
	if b.runtime.device == nil {
		return nil, errors.New("want an open device, got none")
	}
	return &deviceOp{Op: op, call: newDeviceCall(op, kind)}, nil
}

// CUDADo runs the op on the device, into the op's own memory, and returns a tensor around that
// memory. It makes a new tensor each time, because a reset of the machine empties it.
func (o *deviceOp) CUDADo(_ gorgonia.External, _ gorgonia.Device, _ gorgonia.Value, inputs ...gorgonia.Value) (out gorgonia.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, errors.Errorf("%s: %v", o.Primitive, r)
		}
		if err != nil && o.builder.runtime.failure == nil {
			o.builder.runtime.failure = err
		}
	}()
	if err := o.run(inputs); err != nil {
		return nil, errors.Wrapf(err, "%s", o.Primitive)
	}
	a := o.device
	return tensor.New(tensor.Of(o.out.DType), tensor.WithShape(o.out.Shape...), tensor.FromMemory(uintptr(a.Ptr), uintptr(o.out.Bytes()))), nil
}

func (o *deviceOp) run(inputs []gorgonia.Value) error {
	c := &o.call
	if err := c.bind(inputs); err != nil {
		return err
	}
	if o.fused {
		o.ranOn = c.dev
		return nil
	}
	if r := o.builder.runtime; r.profile {
		o.runs.calls++
		r.profiled = append(r.profiled, o.Op)
	}
	return c.launch()
}
