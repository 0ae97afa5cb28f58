package graph

import "github.com/residua-go/residua/graph/cuda"

// FloatSecondary is where a kernel may write secondary i in 32-bit floats, the zero Array
// if it was not built; finish brings it to the secondary's own type.
func (c *DeviceCall) FloatSecondary(i int) (a cuda.Array, accumulate bool, finish func()) {
	y, accumulate := c.SecondaryOut(i)
	if y.None() || y.Type == cuda.F32 {
		return y, accumulate, func() {}
	}
	a = c.Scratch(cuda.F32, y.N)
	return a, false, func() { c.CopyTo(y, a) }
}
