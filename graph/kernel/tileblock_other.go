//go:build !amd64

package kernel

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
