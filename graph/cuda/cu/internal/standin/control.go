package standin

import "unsafe"

// FailNext makes the next call of the driver that can fail return a CUresult.
func (l *Library) FailNext(result int) { l.failNext.Call(uintptr(result)) }

// Holds returns how many holds on the primary context there are.
func (l *Library) Holds() int { return int(l.countHolds.Call()) }

// FailProduct makes the next matrix product return a cublasStatus_t.
func (l *Library) FailProduct(status int) { l.failProduct.Call(uintptr(status)) }

// Product is how a matrix product was asked for: transa, transb, m, n, k; A, its type,
// leading dimension and stride; those of B; those of C; batch, compute type, algorithm.
type Product struct {
	Args        [20]int64
	Alpha, Beta float64
}

// LastProduct returns the last one.
func (l *Library) LastProduct() Product {
	args, factors := new([20]int64), new([2]float64)
	l.lastProduct.Call(uintptr(unsafe.Pointer(args)), uintptr(unsafe.Pointer(factors)))
	return Product{*args, factors[0], factors[1]}
}
