package cuda

// Eights returns the grid of a kernel that handles n elements, eight in each thread (eights.cuh).
func Eights(n int) Grid { return Over((n+7)/8, 256) }

// Quads returns the grid of a kernel that handles n elements, four in each thread (vector.cuh).
func Quads(n int) Grid { return Over((n+3)/4, 256) }

// QuadRows returns the grid of a kernel that handles a matrix; each thread has a piece of four
// columns of a row.
func QuadRows(rows, width int) Grid { return Over(rows*((width+3)/4), 256) }
