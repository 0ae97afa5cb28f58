package cuda

import (
	"fmt"

	"github.com/pkg/errors"
)

// Gemm is a product of row-major matrices, or a batch of them:
//
//	C = Alpha op(A) op(B) + Beta C        or, when Beta and Batch must be 0, with an Epilogue f
//	C = f(Alpha op(A) op(B))              or with an Addend
//	C = Alpha op(A) op(B) + Addend
//
// op(A) is [M, K], op(B) [K, N], C [M, N]; op transposes if TransA or TransB is true. LDA, LDB and
// LDC are the lengths of stored rows. A and B have the same type, F32 or BF16; C has that type or
// F32. Sums are in F32. Aux and Addend have the type and shape of C; Addend may be C itself.
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
	StrideA, StrideB, StrideC int // distance between successive products in elements
	Epilogue                  Epilogue
	Aux                       Array
	Addend                    Array // the zero Array: none
}

// Epilogue says what is done with a product's entries x before they are stored.
type Epilogue int

// The epilogues; GELU is in its tanh form.
const (
	NoEpilogue Epilogue = iota
	GELU                // stores gelu(x), and x to Aux
	DGELU               // stores x gelu'(Aux)
)

func (e Epilogue) String() string { return []string{"none", "GELU", "GELU's derivative"}[e] }

// MatmulWorkspace is the scratch memory of a product by cuBLASLt, in bytes: as much as NVIDIA
// recommends for an H100.
const MatmulWorkspace = 32 << 20

// ErrNoEpilogue says that the device has no product with that epilogue: run the product and the
// epilogue one after the other.
var ErrNoEpilogue = errors.New("cuBLASLt: no product with that epilogue")

// FLOPs counts 2 for each multiply-add.
func (g Gemm) FLOPs() int { return 2 * g.M * g.N * g.K * max(1, g.Batch) }

// Bytes counts both operands and the result; the result counts twice if it, Aux or Addend is also
// read, or Aux written.
func (g Gemm) Bytes() int {
	count := func(elements, stride, batch int) int {
		if stride == 0 {
			return elements
		}
		return elements * batch
	}
	batch, result := max(1, g.Batch), g.M*g.N
	if g.Beta != 0 || g.Epilogue != NoEpilogue || !g.Addend.None() {
		result *= 2
	}
	return count(g.M*g.K, g.StrideA, batch)*g.A.Type.Size() + count(g.K*g.N, g.StrideB, batch)*g.B.Type.Size() + result*batch*g.C.Type.Size()
}

// String describes the product, as in "16384 x 768 x 3072 bf16, B transposed": the rows of op(A),
// the length of the sums, the columns of op(B).
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
	if g.Epilogue != NoEpilogue {
		text += ", then " + g.Epilogue.String()
	}
	if !g.Addend.None() {
		text += ", added"
	}
	return text
}

// fusible tells whether cuBLASLt may run the product, with its epilogue or addend: operands must be
// bfloat16, with rows at multiples of 16 bytes.
func (g Gemm) fusible() bool { return g.A.Type == BF16 && g.Aligned() && Aligned16(g.Aux, g.Addend) }

// inPlace turns an Addend that is C itself into a Beta of 1.
func (g Gemm) inPlace() Gemm {
	if !g.Addend.None() && g.Addend.Ptr == g.C.Ptr {
		g.Addend, g.Beta = Array{}, 1
	}
	return g
}

func (g Gemm) check() error {
	switch {
	case g.A.Type != g.B.Type || g.A.Type != F32 && g.A.Type != BF16:
		return errors.Errorf("matrix product: want operands of one float type, got %v and %v", g.A.Type, g.B.Type)
	case g.C.Type != F32 && g.C.Type != g.A.Type:
		return errors.Errorf("matrix product: want a result of f32 or %v, got %v", g.A.Type, g.C.Type)
	case g.M < 0 || g.N < 0 || g.K < 1:
		return errors.Errorf("matrix product: want sizes >= 1, got %d x %d x %d", g.M, g.N, g.K)
	case g.Epilogue != NoEpilogue && (g.Beta != 0 || g.Batch != 0 || g.Aux.Type != g.C.Type):
		return errors.Errorf("matrix product with an epilogue: want one, nothing added and an Aux of the result's type, got %+v", g)
	case !g.Addend.None() && (g.Beta != 0 || g.Batch != 0 || g.Epilogue != NoEpilogue || g.Addend.Type != g.C.Type):
		return errors.Errorf("matrix product with an addend: want one, no epilogue and an addend of the result's type, got %+v", g)
	}
	return nil
}

// Aligned tells whether all three matrices, and their rows, begin at multiples of 16 bytes, and N
// and K are multiples of 16 bytes, as the kernels for tensor cores require. Otherwise cuBLAS uses
// other kernels: on an H100, with N or K 50257, they reached 10 to 12% of the peak.
func (g Gemm) Aligned() bool {
	whole := func(a Array, sizes ...int) bool {
		for _, n := range sizes {
			if n*a.Type.Size()%16 != 0 {
				return false
			}
		}
		return true
	}
	return Aligned16(g.A, g.B, g.C) && whole(g.A, g.LDA, g.StrideA, g.K) && whole(g.B, g.LDB, g.StrideB) && whole(g.C, g.LDC, g.StrideC, g.N)
}
