package kernel

// transpose writes dst[c, r] = src[r, c] for r < rows, c < columns; ds and ss are the
// distances between the rows of dst and src.
func transpose[T Float](p path, dst []T, ds int, src []T, ss, rows, columns int) {
	done := 0
	if p != portable {
		done = transposeFast(p, dst, ds, src, ss, rows, columns)
	}
	transposeFrom(done, dst, ds, src, ss, rows, columns)
}

// transposeFrom transposes what lies outside the whole squares with the given side: the rows and
// columns after the last square; with square 0, everything.
func transposeFrom[T Float](square int, dst []T, ds int, src []T, ss, rows, columns int) {
	wholeRows, wholeColumns := 0, 0
	if square > 0 {
		wholeRows, wholeColumns = rows/square*square, columns/square*square
	}
	for r := range rows {
		first := 0
		if r < wholeRows {
			first = wholeColumns
		}
		o := first*ds + r
		for _, v := range src[r*ss+first : r*ss+columns] {
			dst[o] = v
			o += ds
		}
	}
}
