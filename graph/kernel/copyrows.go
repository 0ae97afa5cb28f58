package kernel

import "unsafe"

// copyRows copies n rows of width elements, ds apart in dst and ss apart in src. They must not
// overlap.
func copyRows[T Float](dst []T, ds int, src []T, ss, width, n int) {
	const short = 512 // bytes up to which a call of copy for each row takes longer
	size := int(unsafe.Sizeof(T(0)))
	if n > 0 && width > 0 && size*width%copyStep == 0 && size*width <= short {
		to, from := dst[:(n-1)*ds+width], src[:(n-1)*ss+width]
		copyShortRows(pointer(to), size*ds, pointer(from), size*ss, size*width, n)
		return
	}
	for i := range n {
		copy(dst[i*ds:][:width], src[i*ss:][:width])
	}
}

// copyStep is a divisor of the sizes of rows that copyShortRows copies.
const copyStep = 16
