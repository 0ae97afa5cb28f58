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

// MatmulShape describes a product of matrices stored by columns, for which cuBLASLt chooses an
// algorithm:
//
//	D = Epilogue(alpha op(A) op(B))
//
// op(A) is [M, K], op(B) [K, N], D and Aux [M, N], which have the same type and the same distance
// between columns. All matrices begin at multiples of 16 bytes.
type MatmulShape struct {
	TransA, TransB Operation
	M, N, K        int
	Type           DataType // of A and B
	LDA, LDB       int
	DType          DataType
	LDD            int
	Epilogue       Epilogue
	Compute        ComputeType
	Workspace      int // largest number of bytes that the algorithm may use
}

// Matmul is a planned product.
type Matmul struct {
	shape                MatmulShape
	handle               *Handle
	lt                   *ltLibrary
	description, a, b, d uintptr
	chosen               heuristic
	alpha, beta          float32
	aux                  uintptr
	value                uint64 // an attribute being passed
	returned             int32
	preference           uintptr // used during planning
}

// heuristic is a cublasLtMatmulHeuristicResult_t.
type heuristic struct {
	algorithm [8]uint64
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
	choose, multiply                            dynlib.Func
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
		{Func: &l.multiply, Name: "cublasLtMatmul"},
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

	preferWorkspace, preferAlignment = 1, 5 // of A, then of B, C and D
)

const matmulAlignment = 16 // bytes

// PlanMatmul lets cuBLASLt choose an algorithm. The error is NotSupported if it has none.
func (h *Handle) PlanMatmul(s MatmulShape) (*Matmul, error) {
	lt, err := loadLt()
	if err != nil {
		return nil, err
	}
	m := &Matmul{shape: s, handle: h, lt: lt}
	defer func() {
		if m.preference != 0 {
			lt.dropPreference.Call(m.preference)
		}
	}()
	if err := m.prepare(); err != nil {
		m.Close()
		return nil, errors.Wrap(err, s.String())
	}
	return m, nil
}

// prepare makes the descriptions and chooses an algorithm.
func (m *Matmul) prepare() error {
	s, at := &m.shape, func(p *uintptr) uintptr { return uintptr(unsafe.Pointer(p)) }
	q := quick{keep: unsafe.Pointer(m)}
	q.call(m.lt.describe, at(&m.description), uintptr(s.Compute), uintptr(R32F))
	m.describe(&q, descTransA, uint64(s.TransA), 4)
	m.describe(&q, descTransB, uint64(s.TransB), 4)
	m.describe(&q, descEpilogue, uint64(s.Epilogue), 4)
	if s.Epilogue != NoEpilogue {
		m.describe(&q, descAuxLD, uint64(s.LDD), 8)
		m.describe(&q, descAux, matmulAlignment, 8) // sets the alignment of Aux
	}
	layout := func(p *uintptr, t DataType, transposed Operation, rows, columns, ld int) {
		if transposed != OpN {
			rows, columns = columns, rows
		}
		q.call(m.lt.layout, at(p), uintptr(t), uintptr(rows), uintptr(columns), uintptr(ld))
	}
	layout(&m.a, s.Type, s.TransA, s.M, s.K, s.LDA)
	layout(&m.b, s.Type, s.TransB, s.K, s.N, s.LDB)
	layout(&m.d, s.DType, OpN, s.M, s.N, s.LDD)
	q.call(m.lt.prefer, at(&m.preference))
	m.prefer(&q, preferWorkspace, uint64(s.Workspace), 8)
	for i := range 4 {
		m.prefer(&q, preferAlignment+i, matmulAlignment, 4)
	}
	q.call(m.lt.choose, m.handle.handle, m.description, m.a, m.b, m.d, m.d, m.preference, 1,
		uintptr(unsafe.Pointer(&m.chosen)), uintptr(unsafe.Pointer(&m.returned)))
	if q.status == 0 && m.returned == 0 {
		return NotSupported
	}
	return q.err()
}

func (m *Matmul) describe(q *quick, attribute int, value uint64, bytes uintptr) {
	m.value = value
	q.call(m.lt.setDescription, m.description, uintptr(attribute), uintptr(unsafe.Pointer(&m.value)), bytes)
}

func (m *Matmul) prefer(q *quick, attribute int, value uint64, bytes uintptr) {
	m.value = value
	q.call(m.lt.setPreference, m.preference, uintptr(attribute), uintptr(unsafe.Pointer(&m.value)), bytes)
}

// Run starts the product on the default stream. workspace is the address of MatmulShape.Workspace
// bytes, a multiple of 256.
func (m *Matmul) Run(alpha float64, a, b, d, aux, workspace uintptr) error {
	q := quick{keep: unsafe.Pointer(m)}
	if m.shape.Epilogue != NoEpilogue && aux != m.aux {
		m.describe(&q, descAux, uint64(aux), 8)
		m.aux = aux
	}
	m.alpha, m.beta = float32(alpha), 0
	q.call(m.lt.multiply, m.handle.handle, m.description, uintptr(unsafe.Pointer(&m.alpha)), a, m.a, b, m.b,
		uintptr(unsafe.Pointer(&m.beta)), d, m.d, d, m.d, uintptr(unsafe.Pointer(&m.chosen)), workspace, uintptr(m.shape.Workspace), 0)
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
