package cuda

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
