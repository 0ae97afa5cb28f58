//go:build !amd64 && !arm64

package kernel

// runFast is never reached: there is no fast path.
func (t *weightsTile) runFast(path, WeightFormat, bool) {}
