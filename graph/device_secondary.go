package graph

import "github.com/residua-go/residua/graph/cuda"

// FloatSecondary is where a kernel may write secondary i in 32-bit floats, the zero Array
// if it was not built; finish brings it to the secondary's own type.
func (c *DeviceCall) FloatSecondary(i int) (a cuda.Array, accumulate bool, finish func() error, err error) {
	y, accumulate, err := c.SecondaryOut(i)
	if err != nil || y.None() || y.Type == cuda.F32 {
		return y, accumulate, func() error { return nil }, err
	}
	a, err = c.Scratch(cuda.F32, y.N)
	return a, false, func() error { return c.CopyTo(y, a) }, err
}
