//go:build !amd64 && !arm64

package kernel

// machinePairs is the fastest path that this processor has for products of bfloat16.
const machinePairs = portable

// fastRoundBFloat16 is never reached: there is no fast path.
func fastRoundBFloat16(path, []BFloat16, []float32, int) {}

// fastWidenBFloat16 is never reached: there is no fast path.
func fastWidenBFloat16(path, []float32, []BFloat16, int) {}

// fastInterleave is never reached: there is no fast path.
func fastInterleave(path, []BFloat16, []BFloat16, []BFloat16, int) {}

// runFastPairs is never reached: there is no fast path.
func (t *tile[T]) runFastPairs(path, int, int, bool, bool) {}
