package standin

import "unsafe"

// FailNext makes the next driver call that can fail return the given CUresult.
func (l *Library) FailNext(result int) { l.failNext.Call(uintptr(result)) }

// Holds returns the number of references to the primary context.
func (l *Library) Holds() int { return int(l.countHolds.Call()) }

// FailProduct makes the next matrix product return the given cublasStatus_t.
func (l *Library) FailProduct(status int) { l.failProduct.Call(uintptr(status)) }

// Product holds the arguments of a matrix product: transa, transb, m, n, k; A, its type, leading
// dimension and stride; the same for B; the same for C; batch, compute type, algorithm.
type Product struct {
	Args        [20]int64
	Alpha, Beta float64
}

// LastProduct returns the arguments of the last product.
func (l *Library) LastProduct() Product {
	args, factors := new([20]int64), new([2]float64)
	l.lastProduct.Call(uintptr(unsafe.Pointer(args)), uintptr(unsafe.Pointer(factors)))
	return Product{*args, factors[0], factors[1]}
}
