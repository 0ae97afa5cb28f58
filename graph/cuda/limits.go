package cuda

import "github.com/pkg/errors"

// Architecture holds the limits that differ between GPUs of different compute capabilities (CUDA
// C++ Programming Guide, "Compute Capabilities").
type Architecture struct {
	Capability string // "8.6"
	Shared     int    // largest shared memory of a block in bytes, static and dynamic together
}

// Architectures lists the architectures for which the kernels are written.
func Architectures() []Architecture {
	return []Architecture{{"8.0", 163 << 10}, {"8.6", 99 << 10}, {"8.9", 99 << 10}, {"9.0", 227 << 10}, {"10.0", 227 << 10}}
}

// The limits that all architectures have in common.
const (
	maxThreads  = 1024      // threads of a block
	maxBlocksX  = 1<<31 - 1 // blocks of a grid
	maxBlocksYZ = 1<<16 - 1
)

// Check returns an error for a launch of the kernel that these GPUs refuse. A block may have at
// most the number of threads for which the kernel was compiled, since its registers were assigned
// for that number.
func (a Architecture) Check(kernel string, g Grid) error {
	e, ok := entryOf(kernel)
	switch shared := e.shared + g.Shared; {
	case !ok:
		return errors.Errorf("kernel %s: want one of the compiled kernels, got none of that name", kernel)
	case g.Threads < 1 || g.Threads > min(e.threads, maxThreads):
		return errors.Errorf("kernel %s: want 1 to %d threads a block, got %d", kernel, min(e.threads, maxThreads), g.Threads)
	case g.X > maxBlocksX || g.Y > maxBlocksYZ || g.Z > maxBlocksYZ:
		return errors.Errorf("kernel %s: want a grid of at most %d x %d x %d blocks, got %d x %d x %d", kernel, maxBlocksX, maxBlocksYZ, maxBlocksYZ, g.X, g.Y, g.Z)
	case shared > a.Shared:
		return errors.Errorf("kernel %s: want at most %d bytes of shared memory on compute capability %s, got %d and %d of its own", kernel, a.Shared, a.Capability,
			g.Shared, e.shared)
	}
	return nil
}

// entryOf finds a kernel by name.
func entryOf(kernel string) (entry, bool) {
	for _, m := range modules {
		for _, e := range m.entries {
			if e.name == kernel {
				return e, true
			}
		}
	}
	return entry{}, false
}

// Misaligned lists the operands of a product whose first element or stored rows do not begin at
// multiples of 16 bytes: tensor cores read such a matrix in smaller pieces, several times slower.
// For a matrix of one stored row, only the first element matters.
func (g Gemm) Misaligned() []string {
	var list []string
	for _, x := range []struct {
		name            string
		array           Array
		rows, ld, batch int
	}{
		{"A", g.A, pick(g.TransA, g.K, g.M), g.LDA, g.StrideA},
		{"B", g.B, pick(g.TransB, g.N, g.K), g.LDB, g.StrideB},
		{"C", g.C, g.M, g.LDC, g.StrideC},
	} {
		size := x.array.Type.Size()
		if x.rows > 1 && x.ld*size%16 != 0 || g.Batch > 1 && x.batch*size%16 != 0 || x.array.Ptr%16 != 0 {
			list = append(list, x.name)
		}
	}
	return list
}

func pick(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}
