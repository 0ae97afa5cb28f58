package attention

import (
	"strconv"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda"
)

// attentionThreads is the number of threads of a block of any attention kernel.
const attentionThreads = 128

// attentionTile describes a kernel of cuda/attention_{forward,backward}_PRECISION.cu: each block
// handles some rows and walks over tiles of columns. Rows are queries and columns are keys; in the
// kernel for the gradients of keys and values it is the other way round.
type attentionTile struct {
	dim     int // largest size of a head
	rows    int // rows of a block
	columns int // columns of a tile
	stages  int // number of tiles in memory at a time
}

// attentionKernels lists the kernels of one precision, by increasing head dimension.
type attentionKernels struct{ forward, queries, keys []attentionTile }

func attentionKernelsOf(p cuda.Precision) attentionKernels {
	switch p {
	case cuda.PrecisionBF16:
		backward := []attentionTile{{32, 128, 32, 2}, {64, 128, 32, 2}, {96, 64, 32, 2}, {128, 64, 32, 2}, {256, 32, 32, 1}}
		return attentionKernels{
			forward: []attentionTile{{32, 128, 64, 2}, {64, 128, 64, 2}, {96, 128, 32, 2}, {128, 128, 32, 2}, {256, 64, 16, 2}},
			queries: backward, keys: backward,
		}
	case cuda.PrecisionTF32:
		backward := []attentionTile{{32, 128, 32, 2}, {64, 64, 32, 2}, {96, 64, 16, 2}, {128, 64, 16, 1}, {256, 32, 16, 1}}
		return attentionKernels{
			forward: []attentionTile{{32, 128, 64, 2}, {64, 128, 32, 2}, {96, 64, 32, 2}, {128, 64, 16, 2}, {256, 64, 16, 1}},
			queries: backward, keys: backward,
		}
	default:
		backward := []attentionTile{{64, 64, 32, 2}, {128, 64, 16, 1}, {256, 32, 16, 1}}
		return attentionKernels{
			forward: []attentionTile{{64, 128, 32, 2}, {128, 64, 16, 2}, {256, 64, 16, 1}},
			queries: backward, keys: backward,
		}
	}
}

// tile chooses the smallest kernel that can take the heads.
func (a *deviceAttention) tile(kernels []attentionTile) attentionTile {
	for _, t := range kernels {
		if a.padded <= t.dim {
			return t
		}
	}
	largest := kernels[len(kernels)-1]
	a.Fail(errors.Errorf("want heads of at most %d numbers on a GPU, got %d", largest.dim, a.padded))
	return largest
}

// rowBytes returns the distance of rows in shared memory: 16 bytes lie between two rows.
func (t attentionTile) rowBytes(element int) int { return t.dim*element + 16 }

// stagedBytes returns the size of a block's 32-bit results, which at the end overwrite the tiles.
func (t attentionTile) stagedBytes() int { return t.rows * (t.dim + 8) * 4 }

// forwardBytes returns the shared memory for queries, keys and values.
func (t attentionTile) forwardBytes(element int) int {
	return max((t.rows+2*t.stages*t.columns)*t.rowBytes(element), t.stagedBytes())
}

// queriesBytes returns the shared memory for queries, the gradients of their results, keys and
// values.
func (t attentionTile) queriesBytes(element int) int {
	return (2*t.rows + 2*t.stages*t.columns) * t.rowBytes(element)
}

// keysBytes returns the shared memory for keys and values, and for queries, the gradients of their
// results and three statistics of each.
func (t attentionTile) keysBytes(element int) int {
	return t.queriesBytes(element) + t.stages*t.columns*3*4
}

// residentBlocks is roughly the number of blocks that run at once on a large GPU.
const residentBlocks = 384

// grid returns the launch grid: each pair of seq tokens has its blocks. The pairs that fill a large
// GPU form a chunk, whose blocks come before those of the next chunk (cuda/attention.cuh).
func (t attentionTile) grid(pairs, seq, shared int) cuda.Grid {
	blocks := cuda.CeilDiv(seq, t.rows)
	chunk := min(pairs, max(1, residentBlocks/blocks))
	for pairs%chunk != 0 {
		chunk--
	}
	return cuda.Grid{X: chunk, Y: blocks, Z: pairs / chunk, Threads: attentionThreads, Shared: shared}
}

// name returns the kernel's name without the precision.
func (t attentionTile) name(kernel string) string { return kernel + "_" + strconv.Itoa(t.dim) }
