//go:build cuda

package cuda

import (
	"fmt"
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/cu"
)

// MemoryError says that the device does not have enough memory.
type MemoryError struct {
	Device            string
	Want, Free, Total int64 // bytes
	Used              int64 // taken by this program's arrays
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s: out of memory: want %s more, %s of %s are free, %s are this program's: lower train.batch or model.seq, set train.recompute "+
		"to block or device.precision to bf16",
		e.Device, mebibytes(e.Want), mebibytes(e.Free), mebibytes(e.Total), mebibytes(e.Used))
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Alloc returns an array of n elements with undefined content. An array of no elements takes the
// memory of one.
func (d *Device) Alloc(t Type, n int) (Array, error) {
	if n < 0 {
		return Array{}, errors.Errorf("%s: want an array of >= 0 elements, got %d", d.name, n)
	}
	a := Array{Type: t, N: n}
	err := d.within(func() error {
		p, err := cu.MemAlloc(d.bytes(a))
		a.Ptr = uint64(p)
		if errors.Is(err, cu.OutOfMemory) {
			return d.memoryError(d.bytes(a))
		}
		return err
	})
	if err != nil {
		return Array{}, err
	}
	d.used += d.bytes(a)
	return a, nil
}

func (d *Device) bytes(a Array) int64 { return int64(max(1, a.N) * a.Type.Size()) }

func (d *Device) memoryError(want int64) error {
	free, total, err := cu.MemInfo()
	if err != nil {
		return err
	}
	return &MemoryError{d.name, want, free, total, d.used}
}

// Free frees an array. Kernels that still use it finish first.
func (d *Device) Free(a Array) {
	if a.None() {
		return
	}
	if d.within(func() error { return cu.MemFree(cu.DevicePtr(a.Ptr)) }) == nil {
		d.used -= d.bytes(a)
	}
}

// Used returns the bytes of the arrays that Alloc has made.
func (d *Device) Used() int64 { return d.used }

// Memory returns the GPU's free and total memory in bytes.
func (d *Device) Memory() (free, total int64, err error) {
	err = d.within(func() (err error) {
		free, total, err = cu.MemInfo()
		return err
	})
	return free, total, err
}

// copied runs f, which starts a copy, with the device current.
func (d *Device) copied(kind Copy, bytes int, f func() error) error {
	return d.within(func() error {
		if err := f(); err != nil {
			return err
		}
		return d.profile.note(Work{Copy: kind, Bytes: bytes})
	})
}

// Upload copies dst.N elements from host memory.
func (d *Device) Upload(dst Array, src unsafe.Pointer) error {
	if dst.N == 0 {
		return nil
	}
	if d.recording() {
		return errors.WithStack(errRecording)
	}
	// For pageable memory, the driver has read the source when it returns.
	return d.copied(CopyUp, dst.Bytes(), func() error { return cu.MemcpyHtoDAsync(cu.DevicePtr(dst.Ptr), src, int64(dst.Bytes()), cu.NoStream) })
}

// Download copies src.N elements to host memory, after all earlier work is done.
func (d *Device) Download(dst unsafe.Pointer, src Array) error {
	if src.N == 0 {
		return nil
	}
	if d.recording() {
		return errors.WithStack(errRecording)
	}
	return d.copied(CopyDown, src.Bytes(), func() error {
		if err := cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src.Ptr), int64(src.Bytes()), cu.NoStream); err != nil {
			return err
		}
		return cu.NoStream.Synchronize() // not the context: another Device may be recording
	})
}

// Zero clears an array.
func (d *Device) Zero(a Array) error {
	if a.N == 0 {
		return nil
	}
	return d.copied(CopyZero, a.Bytes(), func() error { return cu.MemsetD8Async(cu.DevicePtr(a.Ptr), 0, int64(a.Bytes()), d.stream) })
}

// Convert copies src into dst, which has the same number of elements and a float type, perhaps
// another one.
func (d *Device) Convert(dst, src Array) error {
	switch {
	case dst.N != src.N:
		return errors.Errorf("copy: want %d elements, got %d", dst.N, src.N)
	case dst.N == 0:
		return nil
	case dst.Type == src.Type:
		return d.copied(CopyDevice, dst.Bytes()+src.Bytes(), func() error {
			return cu.MemcpyDtoDAsync(cu.DevicePtr(dst.Ptr), cu.DevicePtr(src.Ptr), int64(src.Bytes()), d.stream)
		})
	}
	return d.within(func() error {
		return d.Launch(conversion(dst, src), Eights(dst.N), dst, src, Long(dst.N))
	})
}
