package graph

import (
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// Value returns the value of a tensor node after a run, in host memory. For a node that ran on the
// CPU it is the node's own buffer, which the next run overwrites; for one on a device it is a copy,
// in float32 whatever the precision.
func Value(n *gorgonia.Node) (*tensor.Dense, error) {
	if n == nil {
		return nil, errors.New("graph: want a node, got nil")
	}
	if op := opOf(n); op != nil && op.deviceRan() {
		return op.download()
	}
	if t, ok := n.Value().(*tensor.Dense); ok {
		return t, nil
	}
	if n.Value() == nil {
		return nil, errors.Errorf("graph: node %q has no value: run its program first", n.Name())
	}
	return nil, errors.Errorf("graph: node %q: want a tensor, got %T: read a scalar with Scalar", n.Name(), n.Value())
}

// Scalar returns a scalar node's value after a run.
func Scalar(n *gorgonia.Node) (float64, error) {
	if n == nil {
		return 0, errors.New("graph: want a scalar node, got nil")
	}
	if op := opOf(n); op != nil && op.deviceRan() && op.out.Scalar() {
		t, err := op.download()
		if err != nil {
			return 0, err
		}
		return Float64s(t)[0], nil
	}
	switch v := n.Value().(type) {
	case *gorgonia.F32:
		return float64(*v), nil
	case *gorgonia.F64:
		return float64(*v), nil
	case nil:
		return 0, errors.Errorf("graph: node %q has no value: run its program first", n.Name())
	}
	return 0, errors.Errorf("graph: node %q: want a scalar, got shape %v", n.Name(), n.Shape())
}

// download copies the op's output from its device.
func (op *Op) download() (*tensor.Dense, error) {
	shape := op.out.Shape
	if op.out.Scalar() {
		shape = tensor.Shape{1}
	}
	t := tensor.New(tensor.Of(op.out.DType), tensor.WithShape(shape...))
	return t, errors.Wrapf(downloadTo(t, op.device, op.ranOn), "%s", op.Primitive)
}

// downloadTo copies a device array into a tensor of the same size, widening bfloat16.
func downloadTo(t *tensor.Dense, from cuda.Array, device cuda.Executor) error {
	if from.Type != cuda.BF16 {
		return device.Download(dataOf(t), from)
	}
	half := make([]uint16, from.N)
	if err := device.Download(unsafe.Pointer(unsafe.SliceData(half)), from); err != nil {
		return err
	}
	wide := elements[uint32](t)
	for i, bits := range half {
		wide[i] = uint32(bits) << 16
	}
	return nil
}
