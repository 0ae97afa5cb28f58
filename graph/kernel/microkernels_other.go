//go:build !amd64 && !arm64

package kernel

// machinePath is the fastest path that this processor has.
const machinePath = portable

// runFast is never reached: there is no fast path.
func (t *tile[T]) runFast(path, int, int, bool, bool) {}

// runDots is never reached: there is no fast path.
func (t *tile[T]) runDots(path, int, int) {}

// runFast is never reached: there is no fast path.
func (t *combineTile[T]) runFast(path, int) {}

// runFast is never reached: there is no fast path.
func (t *axpyTile[T]) runFast(int) {}

// runFast is never reached: there is no fast path.
func (t *gemvTile[T]) runFast(int) {}

// runFast is never reached: there is no fast path.
func (t *sumProductsTile[T]) runFast(path) {}

// transposeFast is never reached: there is no fast path.
func transposeFast[T Float](path, []T, int, []T, int, int, int) {}
