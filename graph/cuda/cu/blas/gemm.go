package cublas

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/pkg/errors"
)

// GemmEx describes a product of matrices in device memory, each stored by columns that are LD
// elements apart:
//
//	C = Alpha op(A) op(B) + Beta C
//
// op(A) is [M, K], op(B) [K, N], C [M, N].
type GemmEx struct {
	TransA, TransB            Operation
	M, N, K                   int
	Alpha                     float64
	A                         uintptr
	AType                     DataType
	LDA                       int
	B                         uintptr
	BType                     DataType
	LDB                       int
	Beta                      float64
	C                         uintptr
	CType                     DataType
	LDC                       int
	Batch                     int // number of products, for GemmStridedBatchedEx
	StrideA, StrideB, StrideC int // distance between successive matrices in elements; 0: all products use the same matrix
	Compute                   ComputeType
	Algorithm                 Algorithm
}

// GemmEx starts one product.
func (h *Handle) GemmEx(g *GemmEx) error {
	if err := g.check(); err != nil {
		return err
	}
	h.setFactors(g)
	return g.result(Status(h.library.gemmEx.Quick(unsafe.Pointer(h), h.handle, uintptr(g.TransA), uintptr(g.TransB),
		uintptr(g.M), uintptr(g.N), uintptr(g.K), uintptr(unsafe.Pointer(&h.alpha)),
		g.A, uintptr(g.AType), uintptr(g.LDA), g.B, uintptr(g.BType), uintptr(g.LDB), uintptr(unsafe.Pointer(&h.beta)),
		g.C, uintptr(g.CType), uintptr(g.LDC), uintptr(g.Compute), uintptr(g.Algorithm.number()))))
}

// GemmStridedBatchedEx starts g.Batch products.
func (h *Handle) GemmStridedBatchedEx(g *GemmEx) error {
	if err := g.check(); err != nil {
		return err
	}
	h.setFactors(g)
	return g.result(Status(h.library.gemmStridedBatchedEx.Quick(unsafe.Pointer(h), h.handle, uintptr(g.TransA), uintptr(g.TransB),
		uintptr(g.M), uintptr(g.N), uintptr(g.K), uintptr(unsafe.Pointer(&h.alpha)),
		g.A, uintptr(g.AType), uintptr(g.LDA), uintptr(g.StrideA),
		g.B, uintptr(g.BType), uintptr(g.LDB), uintptr(g.StrideB), uintptr(unsafe.Pointer(&h.beta)),
		g.C, uintptr(g.CType), uintptr(g.LDC), uintptr(g.StrideC),
		uintptr(g.Batch), uintptr(g.Compute), uintptr(g.Algorithm.number()))))
}

// setFactors stores a product's factors where cuBLAS reads them, in the type in which it computes.
func (h *Handle) setFactors(g *GemmEx) {
	if g.Compute == Compute64F {
		h.alpha, h.beta = math.Float64bits(g.Alpha), math.Float64bits(g.Beta)
		return
	}
	h.alpha = uint64(math.Float32bits(float32(g.Alpha)))
	h.beta = uint64(math.Float32bits(float32(g.Beta)))
}

// check returns an error if a size does not fit into the 32 bits in which it is passed.
func (g *GemmEx) check() error {
	if all := g.M | g.N | g.K | g.LDA | g.LDB | g.LDC | g.Batch; all < 0 || all > math.MaxInt32 {
		return errors.Errorf("%s: want sizes of 31 bits", g.String())
	}
	return nil
}

// result returns the error of a product with status s.
func (g *GemmEx) result(s Status) error {
	if s == 0 {
		return nil
	}
	return errors.Wrap(s, g.String())
}

// String describes the product for an error.
func (g *GemmEx) String() string {
	return fmt.Sprintf("product [%d, %d] [%d, %d] (operations %d %d, types %d %d %d, leading dimensions %d %d %d, batch %d, compute type %d)",
		g.M, g.K, g.K, g.N, g.TransA, g.TransB, g.AType, g.BType, g.CType, g.LDA, g.LDB, g.LDC, g.Batch, g.Compute)
}
