package graph

import "github.com/residua-go/residua/graph/cuda"

// FloatSecondary returns memory into which a kernel may write secondary i as 32-bit floats; the
// zero Array if the secondary was not built. Call finish afterwards: it converts the result to the
// secondary's own type.
func (c *DeviceCall) FloatSecondary(i int) (a cuda.Array, accumulate bool, finish func()) {
	y, accumulate := c.SecondaryOut(i)
	if y.None() || y.Type == cuda.F32 {
		return y, accumulate, func() {}
	}
	a = c.Scratch(cuda.F32, y.N)
	return a, false, func() { c.CopyTo(y, a) }
}
