//go:build cuda

package tapemachine

import (
	"fmt"
	"hash"
	"hash/fnv"
	"unsafe"

	"github.com/chewxy/hm"
	"github.com/pkg/errors"
	"gorgonia.org/cu"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// increment is the op y = x + step on the GPU, the simplest op that owns its output's memory.
type increment struct {
	number int // tells it from the others of a graph
	step   cu.DevicePtr
	out    cu.DevicePtr
	shape  tensor.Shape
}

// newIncrement allocates the output, which has the size of step.
func newIncrement(number int, step cu.DevicePtr, shape tensor.Shape) (*increment, error) {
	out, err := cu.MemAlloc(bytes(shape))
	return &increment{number, step, out, shape}, err
}

func bytes(s tensor.Shape) int64 { return int64(4 * s.TotalSize()) }

func (o *increment) Arity() int { return 1 }
func (o *increment) Type() hm.Type {
	t := gorgonia.TensorType{Dims: len(o.shape), Of: tensor.Float32}
	return hm.NewFnType(t, t)
}
func (o *increment) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.shape, nil }
func (o *increment) ReturnsPtr() bool                                      { return true }
func (o *increment) CallsExtern() bool                                     { return false }
func (o *increment) OverwritesInput() int                                  { return -1 }
func (o *increment) WriteHash(h hash.Hash)                                 { fmt.Fprint(h, o.String()) }
func (o *increment) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}
func (o *increment) String() string { return fmt.Sprintf("increment %d", o.number) }

func (o *increment) Do(...gorgonia.Value) (gorgonia.Value, error) {
	return nil, errors.New("increment runs on a GPU")
}

// CUDADo copies the input and adds the step with the kernel that Gorgonia's own sums use.
func (o *increment) CUDADo(extern gorgonia.External, dev gorgonia.Device, _ gorgonia.Value, in ...gorgonia.Value) (gorgonia.Value, error) {
	e := &extern.(gorgonia.CUDAMachine).Engines()[int(dev)]
	add, found := e.Functions()["elembinop.add_vv_f32"]
	if !found {
		return nil, errors.New("no kernel add_vv_f32")
	}
	c := e.Context()
	c.Memcpy(o.out, cu.DevicePtr(in[0].Uintptr()), bytes(o.shape))
	out, step, size := o.out, o.step, int64(o.shape.TotalSize())
	gx, gy, gz, bx, by, bz := e.ElemGridSize(int(size))
	c.LaunchKernel(add, gx, gy, gz, bx, by, bz, 0, cu.NoStream,
		[]unsafe.Pointer{unsafe.Pointer(&out), unsafe.Pointer(&step), unsafe.Pointer(&size)})
	return tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(o.shape...),
		tensor.FromMemory(o.out.Uintptr(), uintptr(bytes(o.shape)))), c.Errors()
}
