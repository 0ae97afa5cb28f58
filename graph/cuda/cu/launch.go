package cu

import "unsafe"

// Dim is a size in three dimensions; each is at least 1.
type Dim struct{ X, Y, Z uint32 }

// LaunchRaw runs a kernel on grid blocks of block threads, each block with shared bytes of dynamic
// shared memory. params points to an array with the address of each argument; the arguments are
// copied before LaunchRaw returns. It allocates nothing.
//
// The kernel runs later, in the order of the stream. The calling thread must have the
// context: see CUContext.Lock.
func LaunchRaw(f Function, grid, block Dim, shared uint32, s Stream, params *unsafe.Pointer) error {
	d, err := load()
	if err != nil {
		return err
	}
	r := Result(d.launchKernel.Quick(unsafe.Pointer(params), f.handle,
		uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z), uintptr(block.X), uintptr(block.Y), uintptr(block.Z),
		uintptr(shared), s.handle, uintptr(unsafe.Pointer(params)), 0))
	if r != 0 {
		return failed(r, "launching kernel %s on %dx%dx%d blocks of %dx%dx%d threads with %d bytes of shared memory",
			f.name, grid.X, grid.Y, grid.Z, block.X, block.Y, block.Z, shared)
	}
	return nil
}
