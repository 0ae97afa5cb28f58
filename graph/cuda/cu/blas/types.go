package cublas

// Operation is what is done to a matrix before it is multiplied.
type Operation int32

// Operations: nothing, transposition, and that with conjugation.
const (
	OpN Operation = 0
	OpT Operation = 1
	OpC Operation = 2
)

// DataType is what the elements of a matrix are.
type DataType int32

// Element types.
const (
	R32F  DataType = 0  // 32-bit float
	R64F  DataType = 1  // 64-bit float
	R16F  DataType = 2  // 16-bit float
	R16BF DataType = 14 // bfloat16
)

// ComputeType is how products are made and summed.
type ComputeType int32

// Ways of computing.
const (
	Compute32F         ComputeType = 68 // in 32-bit floats
	Compute32FPedantic ComputeType = 69 // and in no faster way whatever the environment says
	Compute64F         ComputeType = 70 // in 64-bit floats
	Compute32FFast16F  ComputeType = 74 // inputs rounded to 16-bit floats
	Compute32FFast16BF ComputeType = 75 // inputs rounded to bfloat16
	Compute32FFastTF32 ComputeType = 77 // inputs rounded to 10 bits of mantissa
)

// Algorithm is which of cuBLAS's ways of multiplying is taken.
type Algorithm int32

// Algorithms. Since GPUs of compute capability 8.0 all others mean the default.
const (
	DefaultAlgorithm         Algorithm = iota // cuBLAS chooses
	DefaultTensorOpAlgorithm                  // cuBLAS chooses among those on tensor cores
)

// number is what cuBLAS calls the algorithm.
func (a Algorithm) number() int {
	if a == DefaultTensorOpAlgorithm {
		return 99
	}
	return -1
}

// MathMode holds for all products of a Handle.
type MathMode int32

// Modes, which can be added.
const (
	DefaultMath MathMode = 0
	// FullReductions sums partial products in the computing type also where the result is of
	// fewer bits.
	FullReductions MathMode = 16
)
