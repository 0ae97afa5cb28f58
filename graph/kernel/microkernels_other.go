//go:build !amd64

package kernel

// machinePath is the fastest path that this processor has.
const machinePath = portable

// runFast is never reached: there is no fast path.
func (t *tile[T]) runFast(path, int, int, bool, bool) {}

// transposeFast transposes nothing: there is no fast path.
func transposeFast[T Float](path, []T, int, []T, int, int, int) int { return 0 }
