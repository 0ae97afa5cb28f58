//go:build !amd64

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

// runTwoPanels is never reached: there is no fast path.
func (t *tile[T]) runTwoPanels() {}

// runFast is never reached: there is no fast path.
func (t *tileBlock) runFast(int, bool, bool, bool) {}

// fastCopyTileRow is never reached: there is no fast path.
func fastCopyTileRow([]BFloat16, []BFloat16, int) {}

// fastTransposeTileRows is never reached: there is no fast path.
func fastTransposeTileRows([]BFloat16, int, []BFloat16, int, int) {}

// fastRoundRows is never reached: there is no fast path.
func fastRoundRows([]BFloat16, int, []float32, int, int, int, int, int, float32) {}
