package matmul

import "golang.org/x/sys/cpu"

// fast tells whether the processor has the tile's instructions.
var fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// tile does C [tileRows, tileColumns] += A B, for A packed [k, tileRows] and B packed
// [k, tileColumns], k at least 1.
func tile(k int, a, b, c *float64, stride int) { tileAVX2(k, a, b, c, stride) }

//go:noescape
func tileAVX2(k int, a, b, c *float64, stride int)
