//go:build cuda

package cuda

import (
	"github.com/pkg/errors"
	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"
)

// Gemm starts a matrix product. cuBLAS stores matrices by columns, so it is asked for the
// transposed product: C^T = op(B)^T op(A)^T.
func (d *Device) Gemm(g Gemm) error {
	if err := g.check(); err != nil {
		return err
	}
	if g.M == 0 || g.N == 0 || g.Batch < 0 {
		return nil
	}
	handle, err := d.gpu.handle()
	if err != nil {
		return err
	}
	g = g.inPlace()
	d.products.Lock()
	if err = d.follow(handle); err == nil {
		err = d.multiply(handle, g)
	}
	d.products.Unlock()
	if err != nil || !d.profile.on {
		return err
	}
	noted := g // g itself would be allocated at each call
	return d.profile.note(Work{Product: &noted, Bytes: g.Bytes()})
}

// follow makes the program's cuBLAS start the next product on the Device's stream. Its workspace is
// always the same, so that recorded products are computed as others are.
func (d *Device) follow(handle *cublas.Handle) (err error) {
	if d.blasReady && d.blasStream == d.stream {
		return nil
	}
	if d.blasWorkspace == 0 {
		d.blasWorkspace, err = cu.MemAlloc(MatmulWorkspace)
		if errors.Is(err, cu.OutOfMemory) {
			err = d.memoryError(MatmulWorkspace)
		}
		if err != nil {
			return errors.Wrap(err, "cuBLAS's workspace")
		}
	}
	d.blasReady, d.blasStream = false, d.stream
	if err := handle.SetStream(d.stream); err != nil {
		return err
	}
	if err := handle.SetWorkspace(d.blasWorkspace, MatmulWorkspace); err != nil {
		return err
	}
	d.blasReady = true
	return nil
}

// gemm starts a product without an epilogue, by cuBLAS. It first copies an addend to C.
func (d *Device) gemm(handle *cublas.Handle, g Gemm) error {
	if !g.Addend.None() {
		if err := d.Convert(g.C, g.Addend); err != nil {
			return err
		}
		g.Beta = 1
	}
	x := &d.product
	*x = cublas.GemmEx{
		TransA: operation(g.TransB), TransB: operation(g.TransA), M: g.N, N: g.M, K: g.K,
		Alpha: g.Alpha, A: uintptr(g.B.Ptr), AType: dataType(g.B.Type), LDA: g.LDB,
		B: uintptr(g.A.Ptr), BType: dataType(g.A.Type), LDB: g.LDA,
		Beta: g.Beta, C: uintptr(g.C.Ptr), CType: dataType(g.C.Type), LDC: g.LDC,
		Batch: g.Batch, StrideA: g.StrideB, StrideB: g.StrideA, StrideC: g.StrideC,
		Compute: d.compute(g.A.Type),
	}
	if g.Batch == 0 {
		return handle.GemmEx(x)
	}
	return handle.GemmStridedBatchedEx(x)
}

func operation(transposed bool) cublas.Operation {
	if transposed {
		return cublas.OpT
	}
	return cublas.OpN
}

func dataType(t Type) cublas.DataType {
	if t == BF16 {
		return cublas.R16BF
	}
	return cublas.R32F
}

// compute returns in which type cuBLAS multiplies; sums are always in 32-bit floats.
func (d *Device) compute(operands Type) cublas.ComputeType {
	if d.precision == PrecisionTF32 && operands == F32 {
		return cublas.Compute32FFastTF32
	}
	return cublas.Compute32F
}
