//go:build cuda

package cuda

import (
	"github.com/pkg/errors"
	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"
)

// Options choose a device.
type Options struct {
	Ordinal   int       // of the GPU, 0 the first
	Precision Precision // "": TF32
}

// Device is one GPU: its context, its kernels, its memory. Everything runs in order on
// the default stream, where Gorgonia's own copies run too. It is not safe for concurrent
// use.
type Device struct {
	gpu       cu.Device
	context   cu.CUContext
	precision Precision
	name      string
	kernels   kernels
	scratch   workspace
	blas      *cublas.Handle
	product   cublas.GemmEx // the last one asked for
	used      int64         // bytes allocated
}

var _ Executor = (*Device)(nil)

// Open takes the GPU's primary context, which Gorgonia's machines share.
func Open(o Options) (*Device, error) {
	if o.Precision == "" {
		o.Precision = PrecisionTF32
	}
	gpu, err := cu.GetDevice(o.Ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{gpu: gpu, precision: o.Precision}
	if d.name, err = gpu.Name(); err != nil {
		return nil, err
	}
	if d.context, err = gpu.MakeContext(cu.SchedAuto); err != nil {
		return nil, errors.Wrapf(err, "%s: context", d.name)
	}
	d.kernels = indexKernels()
	return d, nil
}

// Name returns the GPU's name.
func (d *Device) Name() string { return d.name }

// Precision returns how matrices are multiplied and activations kept.
func (d *Device) Precision() Precision { return d.precision }

// Enter makes the device the calling goroutine's; the returned function ends that. Ops
// run on goroutines of the tape machine, each on any thread.
func (d *Device) Enter() (leave func(), err error) {
	if err := d.context.Lock(); err != nil {
		return nil, err
	}
	d.scratch.reset(d)
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

// Synchronize waits until all that was started is done.
func (d *Device) Synchronize() error { return d.within(cu.Synchronize) }

// Close gives back the context; memory and kernels go with its last user.
func (d *Device) Close() error {
	err := d.within(func() error {
		d.scratch.free(d)
		if d.blas != nil {
			_ = d.blas.Close()
			d.blas = nil
		}
		return d.kernels.unload()
	})
	if releaseErr := d.context.Release(); err == nil {
		err = releaseErr
	}
	return err
}
