package cublas

import (
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"
)

// Standard is the cuBLAS of one of Gorgonia's engines. Its slices lie in device memory, stored by
// columns. Calls are made in the current context, on the default stream; the first call makes the
// handle. Calls return nothing: Err returns the error of the last one.
type Standard struct {
	cu.Context
	mu     sync.Mutex
	handle *Handle
	err    error
}

// ConsOpt is an option of Init.
type ConsOpt func(*Standard)

// WithContext sets the context.
func WithContext(c cu.Context) ConsOpt { return func(s *Standard) { s.Context = c } }

// Init applies the options. cuBLAS is loaded by the first product of Gorgonia's own ops: a graph
// without such products does not need it.
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

// Close destroys the handle, if there is one.
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

// run computes a product.
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

// operation translates BLAS's constant to cuBLAS's.
func operation(t blas.Transpose) Operation {
	switch t {
	case blas.Trans:
		return OpT
	case blas.ConjTrans:
		return OpC
	}
	return OpN
}

// float is the constraint for the element types of BLAS that Gorgonia uses.
type float interface{ float32 | float64 }

// types returns how elements of T are stored and in which type products are computed.
func types[T float]() (DataType, ComputeType) {
	if unsafe.Sizeof(T(0)) == 8 {
		return R64F, Compute64F
	}
	return R32F, Compute32F
}

// address returns the address of a slice's first element.
func address[T float](x []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
