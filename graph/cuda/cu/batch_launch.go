package cu

import "unsafe"

// LaunchKernel runs a kernel as LaunchRaw does; args holds the arguments' addresses.
func (b *BatchedContext) LaunchKernel(f Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared int, s Stream, args []unsafe.Pointer) {
	grid := Dim{uint32(gridX), uint32(gridY), uint32(gridZ)}
	block := Dim{uint32(blockX), uint32(blockY), uint32(blockZ)}
	b.keep(b.Do(func() error {
		return LaunchRaw(f, grid, block, uint32(shared), s, unsafe.SliceData(args))
	}))
}

// LaunchAndSync does what LaunchKernel does: everything runs in the order of one stream, and a copy
// to the host waits for it.
func (b *BatchedContext) LaunchAndSync(f Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared int, s Stream, args []unsafe.Pointer) {
	b.LaunchKernel(f, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, s, args)
}
