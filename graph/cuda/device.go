//go:build cuda

package cuda

import (
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"

	_ "github.com/residua-go/residua/graph/cuda/internal/clone" // fails to build where go.work is not in effect
)

// Options choose a device.
type Options struct {
	Ordinal   int       // index of the GPU among those that CUDA_VISIBLE_DEVICES shows to the program, from 0
	Precision Precision // "": TF32
}

// Device is a GPU as one Store uses it: with a precision and its own memory. All Devices of a
// program share its GPU, context, kernels and cuBLAS. Everything runs in order on the default
// stream, where Gorgonia's copies also run, or is recorded on a stream of the Device's own. A
// Device is not safe for concurrent use.
type Device struct {
	*gpu
	precision Precision
	scratch   workspace
	profile   profile
	args      [maxArgs]arg            // arguments of the last launch
	params    [maxArgs]unsafe.Pointer // pointers to args
	product   cublas.GemmEx           // the last product by cuBLAS
	matmuls   matmuls
	stream    cu.Stream // where work starts: the default stream, unless it is recorded
	recorder  cu.Stream // where it is recorded; the default stream before the first recording
	used      int64     // number of allocated bytes
}

var _ Executor = (*Device)(nil)

// Open takes a reference to the GPU's primary context, which Gorgonia's machines share. Every
// Device of a program must have the same Ordinal.
func Open(o Options) (*Device, error) {
	if o.Precision == "" {
		o.Precision = PrecisionTF32
	}
	m, err := newMatmuls()
	if err != nil {
		return nil, err
	}
	g, err := openGPU(o.Ordinal)
	if err != nil {
		return nil, err
	}
	return &Device{gpu: g, precision: o.Precision, matmuls: m}, nil
}

// Name returns the GPU's name.
func (d *Device) Name() string { return d.name }

// Precision returns how matrices are multiplied and activations stored.
func (d *Device) Precision() Precision { return d.precision }

// Enter makes the device current for the calling goroutine; the returned function undoes this. Ops
// run in goroutines of the tape machine, each on any thread.
func (d *Device) Enter() (leave func(), err error) {
	if err := d.context.Lock(); err != nil {
		return nil, err
	}
	d.scratch.reset(d)
	d.matmuls.workspace = Array{}
	if err := d.profile.note(Work{}); err != nil {
		d.context.Unlock()
		return nil, err
	}
	return d.context.Unlock, nil
}

// Scratch returns memory that is valid until the next Enter.
func (d *Device) Scratch(t Type, n int) (Array, error) { return d.scratch.take(d, t, n) }

// within runs f with the device current.
func (d *Device) within(f func() error) error {
	if err := d.context.Lock(); err != nil {
		return err
	}
	defer d.context.Unlock()
	return f()
}

// Synchronize waits until all started work is done.
func (d *Device) Synchronize() error {
	if d.recording() {
		return errors.WithStack(errRecording)
	}
	return d.within(func() error {
		if err := cu.NoStream.Synchronize(); err != nil {
			return err
		}
		return d.profile.note(Work{})
	})
}

// Close frees the scratch memory, events and plans of products; arrays from Alloc must be freed by
// their owners. Context, kernels and cuBLAS stay open for the program's other Devices.
func (d *Device) Close() error {
	return d.within(func() error {
		d.scratch.free(d)
		d.profile.free()
		d.freeRecorder()
		d.matmuls.close()
		return nil
	})
}
