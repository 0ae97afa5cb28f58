//go:build !amd64

package kernel

// runFast is never reached: there is no fast path.
func (t *weightsTile) runFast(path, WeightFormat, bool) {}
