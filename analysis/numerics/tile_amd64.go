package numerics

import "golang.org/x/sys/cpu"

// fast tells whether the processor has the instructions that tile uses.
var fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// tile computes C [tileRows, tileColumns] += A B for A packed as [k, tileRows] and B packed as [k,
// tileColumns]; k is at least 1.
func tile(k int, a, b, c *float64, stride int) { tileAVX2(k, a, b, c, stride) }

//go:noescape
func tileAVX2(k int, a, b, c *float64, stride int)
