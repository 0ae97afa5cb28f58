package cuda

import (
	"fmt"

	"github.com/pkg/errors"
)

// Gemm is a product of row-major matrices, or a batch of them:
//
//	C = Alpha op(A) op(B) + Beta C
//
// op(A) is [M, K], op(B) [K, N], C [M, N]; op transposes where TransA or TransB says so.
// LDA, LDB and LDC are the lengths of stored rows. A and B are of one type, F32 or BF16;
// C is F32 or of theirs. Sums are in F32.
type Gemm struct {
	TransA, TransB            bool
	M, N, K                   int
	Alpha                     float64
	A                         Array
	LDA                       int
	B                         Array
	LDB                       int
	Beta                      float64
	C                         Array
	LDC                       int
	Batch                     int // 0: one product
	StrideA, StrideB, StrideC int // in elements, from one product to the next
}

// FLOPs counts 2 a multiply-add.
func (g Gemm) FLOPs() int { return 2 * g.M * g.N * g.K * max(1, g.Batch) }

// Bytes is the size of both operands and, where Beta is not 0 twice, of the result.
func (g Gemm) Bytes() int {
	count := func(elements, stride, batch int) int {
		if stride == 0 {
			return elements
		}
		return elements * batch
	}
	batch, result := max(1, g.Batch), g.M*g.N
	if g.Beta != 0 {
		result *= 2
	}
	return count(g.M*g.K, g.StrideA, batch)*g.A.Type.Size() + count(g.K*g.N, g.StrideB, batch)*g.B.Type.Size() + result*batch*g.C.Type.Size()
}

// String is as in "16384 x 768 x 3072 bf16, B transposed": the rows of op(A), what is summed over, the columns of op(B).
func (g Gemm) String() string {
	text := fmt.Sprintf("%d x %d x %d %v", g.M, g.K, g.N, g.A.Type)
	if g.Batch > 0 {
		text += fmt.Sprintf(", %d of them", g.Batch)
	}
	if g.TransA {
		text += ", A transposed"
	}
	if g.TransB {
		text += ", B transposed"
	}
	return text
}

func (g Gemm) check() error {
	switch {
	case g.A.Type != g.B.Type || g.A.Type != F32 && g.A.Type != BF16:
		return errors.Errorf("matrix product: want operands of one float type, got %v and %v", g.A.Type, g.B.Type)
	case g.C.Type != F32 && g.C.Type != g.A.Type:
		return errors.Errorf("matrix product: want a result of f32 or %v, got %v", g.A.Type, g.C.Type)
	case g.M < 0 || g.N < 0 || g.K < 1:
		return errors.Errorf("matrix product: want sizes >= 1, got %d x %d x %d", g.M, g.N, g.K)
	}
	return nil
}

// Aligned tells whether all three matrices, and their rows, begin at multiples of 16 bytes, as the
// kernels for tensor cores want.
func (g Gemm) Aligned() bool {
	multiple := func(a Array, ld, stride int) bool { return ld*a.Type.Size()%16 == 0 && stride*a.Type.Size()%16 == 0 }
	return Aligned16(g.A, g.B, g.C) && multiple(g.A, g.LDA, g.StrideA) && multiple(g.B, g.LDB, g.StrideB) && multiple(g.C, g.LDC, g.StrideC)
}
