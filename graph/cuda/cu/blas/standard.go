package cublas

import (
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"
)

// Standard is the cuBLAS of one of Gorgonia's engines. Its slices lie in device memory, by
// columns. A call is made in the current context, on the default stream; the handle is made
// at the first. A call returns nothing: Err tells how the last one went.
type Standard struct {
	cu.Context
	mu     sync.Mutex
	handle *Handle
	err    error
}

// ConsOpt is an option of Init.
type ConsOpt func(*Standard)

// WithContext says whose cuBLAS it is.
func WithContext(c cu.Context) ConsOpt { return func(s *Standard) { s.Context = c } }

// Init takes the options. cuBLAS is looked for at the first product: a graph without stock
// products does without it.
func (s *Standard) Init(options ...ConsOpt) error {
	for _, option := range options {
		option(s)
	}
	return nil
}

// Err returns the last call's error.
func (s *Standard) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close gives the handle up, if there is one.
func (s *Standard) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle == nil {
		return nil
	}
	handle := s.handle
	s.handle = nil
	return handle.Close()
}

// run makes a product.
func (s *Standard) run(g GemmEx) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle == nil {
		if s.handle, s.err = NewHandle(); s.err != nil {
			return
		}
	}
	s.err = s.handle.GemmEx(&g)
}

// operation translates.
func operation(t blas.Transpose) Operation {
	switch t {
	case blas.Trans:
		return OpT
	case blas.ConjTrans:
		return OpC
	}
	return OpN
}

// float is the element types of BLAS that Gorgonia has.
type float interface{ float32 | float64 }

// types returns how elements of T are stored and computed with.
func types[T float]() (DataType, ComputeType) {
	if unsafe.Sizeof(T(0)) == 8 {
		return R64F, Compute64F
	}
	return R32F, Compute32F
}

// address returns where a slice lies.
func address[T float](x []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
