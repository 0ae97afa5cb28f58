package cublas

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/pkg/errors"
	"gorgonia.org/cu/internal/dynlib"
)

// Epilogue says what cuBLASLt does with the entries of a product before it stores them.
type Epilogue int32

// The epilogues. GELU is in its tanh form.
const (
	NoEpilogue Epilogue = 1
	GELUAux    Epilogue = 160 // stores gelu(x), and x to Aux
	DGELU      Epilogue = 192 // stores x gelu'(Aux)
)

// Reduction says how an algorithm may add the sums of the parts into which it has split K.
type Reduction uint32

// The reductions.
const (
	AnyReduction   Reduction = 0 // also in D's type
	FloatReduction Reduction = 2 // only in the computing type
)

// MatmulShape describes a product of matrices stored by columns, for which cuBLASLt chooses an
// algorithm:
//
//	D = alpha op(A) op(B) + beta C        or, with an Epilogue f, when Adds must be false,
//	D = f(alpha op(A) op(B))
//
// op(A) is [M, K], op(B) [K, N], C, D and Aux [M, N], which have the same type and the same
// distance between columns. C may be D. All matrices begin at multiples of 16 bytes.
type MatmulShape struct {
	TransA, TransB Operation
	M, N, K        int
	Type           DataType // of A and B
	LDA, LDB       int
	DType          DataType
	LDD            int
	Adds           bool // beta may differ from 0
	Apart          bool // C is not D
	Epilogue       Epilogue
	Compute        ComputeType
	Reduction      Reduction
	Workspace      int // largest number of bytes that the algorithm may use
}

// MatmulAlgorithm is a cublasLtMatmulAlgo_t. Another program may use it again for the same shape,
// GPU and version of cuBLASLt.
type MatmulAlgorithm [64]byte

// MostAlgorithms is the largest number of algorithms of a plan.
const MostAlgorithms = 8

// Matmul is a planned product, with the algorithms that it may use. It uses the first until Use.
type Matmul struct {
	shape                MatmulShape
	handle               *Handle
	lt                   *ltLibrary
	description, a, b, d uintptr
	found                [MostAlgorithms]heuristic
	count, used          int
	alpha, beta          float32
	aux                  uintptr
	value                uint64 // an attribute being passed
	returned             int32  // these are used during planning
	checked              heuristic
	preference           uintptr
}

// heuristic is a cublasLtMatmulHeuristicResult_t.
type heuristic struct {
	algorithm MatmulAlgorithm
	workspace uint64
	state     int32
	waves     float32
	reserved  [4]int32
}

// ltLibrary holds the functions of cuBLASLt, which is installed with cuBLAS.
type ltLibrary struct {
	describe, layout, prefer                    dynlib.Func
	setDescription, setPreference               dynlib.Func
	dropDescription, dropLayout, dropPreference dynlib.Func
	choose, check, multiply, version            dynlib.Func
}

func (l *ltLibrary) symbols() []dynlib.Symbol {
	return []dynlib.Symbol{
		{Func: &l.describe, Name: "cublasLtMatmulDescCreate"},
		{Func: &l.dropDescription, Name: "cublasLtMatmulDescDestroy"},
		{Func: &l.setDescription, Name: "cublasLtMatmulDescSetAttribute"},
		{Func: &l.layout, Name: "cublasLtMatrixLayoutCreate"},
		{Func: &l.dropLayout, Name: "cublasLtMatrixLayoutDestroy"},
		{Func: &l.prefer, Name: "cublasLtMatmulPreferenceCreate"},
		{Func: &l.dropPreference, Name: "cublasLtMatmulPreferenceDestroy"},
		{Func: &l.setPreference, Name: "cublasLtMatmulPreferenceSetAttribute"},
		{Func: &l.choose, Name: "cublasLtMatmulAlgoGetHeuristic"},
		{Func: &l.check, Name: "cublasLtMatmulAlgoCheck"},
		{Func: &l.multiply, Name: "cublasLtMatmul"},
		{Func: &l.version, Name: "cublasLtGetVersion"},
	}
}

// loadLt binds cuBLASLt, once for the program.
var loadLt = sync.OnceValues(func() (*ltLibrary, error) {
	blas, err := load()
	if err != nil {
		return nil, err
	}
	l := &ltLibrary{}
	return l, blas.found.Bind(l.symbols())
})

// Numbers of attributes in cublasLt.h.
const (
	descTransA, descTransB, descEpilogue, descAux, descAuxLD = 3, 4, 7, 11, 12

	preferWorkspace, preferReduction, preferAlignment = 1, 3, 5 // 5 of A, then of B, C and D
)

const matmulAlignment = 16 // bytes

// MatmulVersion returns the version of cuBLASLt, 120103 for 12.1.3.
func MatmulVersion() (int, error) {
	lt, err := loadLt()
	if err != nil {
		return 0, err
	}
	return int(lt.version.Call()), nil
}

// PlanMatmul lets cuBLASLt choose at most the given number of algorithms, the one first that it
// believes to be the fastest. The error is NotSupported if it has none.
func (h *Handle) PlanMatmul(s MatmulShape, most int) (*Matmul, error) {
	return h.plan(s, func(m *Matmul, q *quick) { m.choose(q, min(most, MostAlgorithms)) })
}

// RestoreMatmul plans a product with an algorithm of an earlier plan. The error wraps a Status if
// this GPU or cuBLASLt does not have the algorithm for the shape.
func (h *Handle) RestoreMatmul(s MatmulShape, a MatmulAlgorithm) (*Matmul, error) {
	return h.plan(s, func(m *Matmul, q *quick) { m.restore(q, a) })
}

// plan makes the descriptions of a product and finds algorithms.
func (h *Handle) plan(s MatmulShape, find func(m *Matmul, q *quick)) (*Matmul, error) {
	lt, err := loadLt()
	if err != nil {
		return nil, err
	}
	m := &Matmul{shape: s, handle: h, lt: lt}
	q := &quick{keep: unsafe.Pointer(m)}
	m.prepare(q)
	find(m, q)
	if q.status == 0 && m.count == 0 {
		q.status = NotSupported
	}
	if err := q.err(); err != nil {
		m.Close()
		return nil, errors.Wrap(err, s.String())
	}
	return m, nil
}

// prepare makes the descriptions.
func (m *Matmul) prepare(q *quick) {
	s := &m.shape
	q.call(m.lt.describe, uintptr(unsafe.Pointer(&m.description)), uintptr(s.Compute), uintptr(R32F))
	m.describe(q, descTransA, uint64(s.TransA), 4)
	m.describe(q, descTransB, uint64(s.TransB), 4)
	m.describe(q, descEpilogue, uint64(s.Epilogue), 4)
	if s.Epilogue != NoEpilogue {
		m.describe(q, descAuxLD, uint64(s.LDD), 8)
		m.describe(q, descAux, matmulAlignment, 8) // sets the alignment of Aux
	}
	layout := func(p *uintptr, t DataType, transposed Operation, rows, columns, ld int) {
		if transposed != OpN {
			rows, columns = columns, rows
		}
		q.call(m.lt.layout, uintptr(unsafe.Pointer(p)), uintptr(t), uintptr(rows), uintptr(columns), uintptr(ld))
	}
	layout(&m.a, s.Type, s.TransA, s.M, s.K, s.LDA)
	layout(&m.b, s.Type, s.TransB, s.K, s.N, s.LDB)
	layout(&m.d, s.DType, OpN, s.M, s.N, s.LDD)
}

// choose lets cuBLASLt choose algorithms, and leaves out those that cannot be used.
func (m *Matmul) choose(q *quick, most int) {
	q.call(m.lt.prefer, uintptr(unsafe.Pointer(&m.preference)))
	m.prefer(q, preferWorkspace, uint64(m.shape.Workspace), 8)
	if m.shape.Reduction != AnyReduction {
		m.prefer(q, preferReduction, uint64(m.shape.Reduction), 4)
	}
	for i := range 4 {
		m.prefer(q, preferAlignment+i, matmulAlignment, 4)
	}
	q.call(m.lt.choose, m.handle.handle, m.description, m.a, m.b, m.d, m.d, m.preference, uintptr(most),
		uintptr(unsafe.Pointer(&m.found)), uintptr(unsafe.Pointer(&m.returned)))
	if m.preference != 0 {
		m.lt.dropPreference.Call(m.preference)
	}
	for _, f := range m.found[:m.returned] {
		if f.state == 0 {
			m.found[m.count] = f
			m.count++
		}
	}
}

// restore lets cuBLASLt check an algorithm.
func (m *Matmul) restore(q *quick, a MatmulAlgorithm) {
	only := &m.found[0]
	only.algorithm = a
	q.call(m.lt.check, m.handle.handle, m.description, m.a, m.b, m.d, m.d,
		uintptr(unsafe.Pointer(&only.algorithm)), uintptr(unsafe.Pointer(&m.checked)))
	if m.checked.state == 0 && m.checked.workspace <= uint64(m.shape.Workspace) {
		m.count = 1
	}
}

// Algorithms returns the number of algorithms that the product may use.
func (m *Matmul) Algorithms() int { return m.count }

// Use makes the product use its i-th algorithm, counted from 0.
func (m *Matmul) Use(i int) { m.used = i }

// Algorithm returns the algorithm that the product uses.
func (m *Matmul) Algorithm() MatmulAlgorithm { return m.found[m.used].algorithm }

func (m *Matmul) describe(q *quick, attribute int, value uint64, bytes uintptr) {
	m.value = value
	q.call(m.lt.setDescription, m.description, uintptr(attribute), uintptr(unsafe.Pointer(&m.value)), bytes)
}

func (m *Matmul) prefer(q *quick, attribute int, value uint64, bytes uintptr) {
	m.value = value
	q.call(m.lt.setPreference, m.preference, uintptr(attribute), uintptr(unsafe.Pointer(&m.value)), bytes)
}

// Run starts the product on the handle's stream. workspace is the address of MatmulShape.Workspace
// bytes, a multiple of 256.
func (m *Matmul) Run(alpha float64, a, b uintptr, beta float64, c, d, aux, workspace uintptr) error {
	q := quick{keep: unsafe.Pointer(m)}
	if m.shape.Epilogue != NoEpilogue && aux != m.aux {
		m.describe(&q, descAux, uint64(aux), 8)
		m.aux = aux
	}
	m.alpha, m.beta = float32(alpha), float32(beta)
	q.call(m.lt.multiply, m.handle.handle, m.description, uintptr(unsafe.Pointer(&m.alpha)), a, m.a, b, m.b,
		uintptr(unsafe.Pointer(&m.beta)), c, m.d, d, m.d, uintptr(unsafe.Pointer(&m.found[m.used].algorithm)), workspace, uintptr(m.shape.Workspace), m.handle.stream)
	if err := q.err(); err != nil {
		return errors.Wrap(err, m.shape.String())
	}
	return nil
}

// Close frees the plan.
func (m *Matmul) Close() {
	if m.description != 0 {
		m.lt.dropDescription.Call(m.description)
	}
	for _, layout := range []uintptr{m.a, m.b, m.d} {
		if layout != 0 {
			m.lt.dropLayout.Call(layout)
		}
	}
}

// String describes the product for an error.
func (s MatmulShape) String() string {
	return fmt.Sprintf("product [%d, %d] [%d, %d] (operations %d %d, types %d %d, leading dimensions %d %d %d, epilogue %d, compute type %d)",
		s.M, s.K, s.K, s.N, s.TransA, s.TransB, s.Type, s.DType, s.LDA, s.LDB, s.LDD, s.Epilogue, s.Compute)
}

// quick makes calls one after another until one fails.
type quick struct {
	keep   unsafe.Pointer
	status Status
}

func (q *quick) call(f dynlib.Func, args ...uintptr) {
	if q.status == 0 {
		q.status = Status(f.Quick(q.keep, args...))
	}
}

func (q *quick) err() error {
	if q.status == 0 {
		return nil
	}
	return q.status
}
