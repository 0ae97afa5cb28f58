//go:build cuda

package graph

import "github.com/residua-go/residua/graph/cuda"

// floatCompanion is where a kernel may write secondary i in 32-bit floats, the zero Array
// if it was not built; finish brings it to the secondary's own type.
func (c *deviceCall) floatCompanion(i int) (a cuda.Array, accumulate bool, finish func() error, err error) {
	y, accumulate, err := c.secondaryOut(i)
	if err != nil || y.None() || y.Type == cuda.F32 {
		return y, accumulate, func() error { return nil }, err
	}
	a, err = c.scratch(cuda.F32, y.N)
	return a, false, func() error { return c.copyTo(y, a) }, err
}
