package cuda

// Eights returns the grid of a kernel that treats n elements, eight a thread (eights.cuh).
func Eights(n int) Grid { return Over((n+7)/8, 256) }

// Quads returns the grid of a kernel that treats n elements, four a thread (vector.cuh).
func Quads(n int) Grid { return Over((n+3)/4, 256) }

// QuadRows returns the grid of a kernel that treats a matrix whose rows are cut into
// pieces of four columns, a piece a thread.
func QuadRows(rows, width int) Grid { return Over(rows*((width+3)/4), 256) }
