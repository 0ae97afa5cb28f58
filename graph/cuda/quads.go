package cuda

// Quads returns the grid of a kernel that treats n elements, four a thread (vector.cuh).
func Quads(n int) Grid { return Over((n+3)/4, 256) }

// QuadRows returns the grid of a kernel that treats a matrix whose rows are cut into
// pieces of four columns, a piece a thread.
func QuadRows(rows, width int) Grid { return Over(rows*((width+3)/4), 256) }
