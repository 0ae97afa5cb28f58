package cuda

import (
	"math"
	"unsafe"

	"github.com/pkg/errors"
)

// Recorder is an Executor that notes what it is asked to do without doing it: it needs no GPU,
// driver or device memory. It checks launches as a Device does. Its arrays have addresses like a
// driver's, but no content: Download leaves its destination unchanged.
type Recorder struct {
	Shared int // bytes of shared memory of a multiprocessor; NewRecorder sets an H100's

	precision       Precision
	multiprocessors int
	entries         map[string]entry
	scratch         workspace
	next            uint64 // next free address
	used            int64
	work            []Work
}

var _ Executor = (*Recorder)(nil)

// NewRecorder returns a Recorder for a device with the given number of multiprocessors; precision
// "" means TF32.
func NewRecorder(p Precision, multiprocessors int) *Recorder {
	if p == "" {
		p = PrecisionTF32
	}
	r := &Recorder{Shared: 228 << 10, precision: p, multiprocessors: multiprocessors, entries: map[string]entry{}, next: alignment}
	for _, m := range modules {
		for _, e := range m.entries {
			r.entries[e.name] = e
		}
	}
	return r
}

// Take returns the work noted since the last Take.
func (r *Recorder) Take() []Work {
	work := r.work
	r.work = nil
	return work
}

// Precision returns how matrices are multiplied and activations stored.
func (r *Recorder) Precision() Precision { return r.precision }

// Multiprocessors returns the number given to NewRecorder.
func (r *Recorder) Multiprocessors() (int, error) { return r.multiprocessors, nil }

// SharedMemory returns Shared.
func (r *Recorder) SharedMemory() (int, error) { return r.Shared, nil }

// Enter takes back all scratch memory.
func (r *Recorder) Enter() (leave func(), err error) {
	r.scratch.reset(r)
	return func() {}, nil
}

// Launch notes a kernel. It checks the number and sizes of the arguments against the kernel's PTX.
func (r *Recorder) Launch(name string, grid Grid, given ...Arg) error {
	args := Args(given).appendTo(nil)
	e, ok := r.entries[name]
	if !ok {
		return errors.Errorf("kernel %s: want one of the compiled kernels, got none of that name", name)
	}
	if err := e.check(grid, args); err != nil {
		return errors.Wrapf(err, "kernel %s", name)
	}
	if grid.X == 0 {
		return nil
	}
	r.work = append(r.work, kernelWork(name, grid, args))
	return nil
}

// Gemm notes a matrix product.
func (r *Recorder) Gemm(g Gemm) error {
	if err := g.check(); err != nil {
		return err
	}
	g = g.inPlace()
	if g.Epilogue != NoEpilogue && !g.fusible() {
		return errors.WithStack(ErrNoEpilogue)
	}
	if g.fusible() && (g.Epilogue != NoEpilogue || !g.Addend.None()) {
		if _, err := r.Scratch(F32, MatmulWorkspace/F32.Size()); err != nil {
			return err
		}
	}
	if g.M > 0 && g.N > 0 && g.Batch >= 0 {
		r.work = append(r.work, Work{Product: &g, Bytes: g.Bytes()})
	}
	return nil
}

// Scratch returns memory that is valid until the next Enter.
func (r *Recorder) Scratch(t Type, n int) (Array, error) { return r.scratch.take(r, t, n) }

// Alloc returns an array of n elements at a new address.
func (r *Recorder) Alloc(t Type, n int) (Array, error) {
	if n < 0 {
		return Array{}, errors.Errorf("want an array of >= 0 elements, got %d", n)
	}
	a := Array{Ptr: r.next, Type: t, N: n}
	bytes := max(1, n) * t.Size()
	r.next += uint64((bytes + alignment - 1) / alignment * alignment)
	r.used += int64(bytes)
	return a, nil
}

// Free frees an array.
func (r *Recorder) Free(a Array) {
	if !a.None() {
		r.used -= int64(max(1, a.N) * a.Type.Size())
	}
}

// Upload notes the copy; src may be nil.
func (r *Recorder) Upload(dst Array, _ unsafe.Pointer) error { return r.copied(CopyUp, dst.Bytes()) }

// Download notes the copy; dst may be nil.
func (r *Recorder) Download(_ unsafe.Pointer, src Array) error {
	return r.copied(CopyDown, src.Bytes())
}

// Zero notes the fill.
func (r *Recorder) Zero(a Array) error { return r.copied(CopyZero, a.Bytes()) }

// Convert notes a copy, or the kernel that converts.
func (r *Recorder) Convert(dst, src Array) error {
	if dst.N != src.N {
		return errors.Errorf("copy: want %d elements, got %d", dst.N, src.N)
	}
	if dst.N > 0 && dst.Type != src.Type {
		return r.Launch(conversion(dst, src), Eights(dst.N), dst, src, Long(dst.N))
	}
	return r.copied(CopyDevice, dst.Bytes()+src.Bytes())
}

func (r *Recorder) copied(kind Copy, bytes int) error {
	if bytes > 0 {
		r.work = append(r.work, Work{Copy: kind, Bytes: bytes})
	}
	return nil
}

// Memory returns numbers so large that everything fits.
func (r *Recorder) Memory() (free, total int64, err error) {
	return math.MaxInt64 - r.used, math.MaxInt64, nil
}

// Synchronize does nothing: nothing runs.
func (r *Recorder) Synchronize() error { return nil }

// Close does nothing.
func (r *Recorder) Close() error { return nil }
