package cublas

// Operation says what is done to a matrix before it is multiplied.
type Operation int32

// The operations: none, transposition, and transposition with conjugation.
const (
	OpN Operation = 0
	OpT Operation = 1
	OpC Operation = 2
)

// DataType is the element type of a matrix.
type DataType int32

// Element types.
const (
	R32F  DataType = 0  // 32-bit float
	R64F  DataType = 1  // 64-bit float
	R16F  DataType = 2  // 16-bit float
	R16BF DataType = 14 // bfloat16
)

// ComputeType says in which type products are computed and summed.
type ComputeType int32

// The types of computation.
const (
	Compute32F         ComputeType = 68 // in 32-bit floats
	Compute32FPedantic ComputeType = 69 // the same, and never faster, whatever the environment says
	Compute64F         ComputeType = 70 // in 64-bit floats
	Compute32FFast16F  ComputeType = 74 // inputs rounded to 16-bit floats
	Compute32FFast16BF ComputeType = 75 // inputs rounded to bfloat16
	Compute32FFastTF32 ComputeType = 77 // inputs rounded to 10 bits of mantissa
)

// Algorithm says which of cuBLAS's algorithms to use.
type Algorithm int32

// The algorithms. On GPUs of compute capability 8.0 and later, all others mean the default.
const (
	DefaultAlgorithm         Algorithm = iota // cuBLAS chooses
	DefaultTensorOpAlgorithm                  // cuBLAS chooses among those on tensor cores
)

// number returns cuBLAS's number of the algorithm.
func (a Algorithm) number() int {
	if a == DefaultTensorOpAlgorithm {
		return 99
	}
	return -1
}

// MathMode applies to all products of a Handle.
type MathMode int32

// The modes, which can be combined by addition.
const (
	DefaultMath MathMode = 0
	// FullReductions makes partial products be summed in the computing type even if the result has
	// fewer bits.
	FullReductions MathMode = 16
)
