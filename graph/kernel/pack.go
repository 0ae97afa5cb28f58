package kernel

// transpose writes dst[c, r] = src[r, c] for r < rows, c < columns; ds and ss are the
// distances between the rows of dst and src.
func transpose[T Float](p path, dst []T, ds int, src []T, ss, rows, columns int) {
	if rows == 0 || columns == 0 {
		return
	}
	_, _ = dst[(columns-1)*ds+rows-1], src[(rows-1)*ss+columns-1] // the fast paths check nothing
	if p != portable {
		transposeFast(p, dst, ds, src, ss, rows, columns)
		return
	}
	for r := range rows {
		o := r
		for _, v := range src[r*ss : r*ss+columns] {
			dst[o] = v
			o += ds
		}
	}
}
