//go:build cuda

package cuda

import (
	"os"

	"github.com/pkg/errors"
	cublas "gorgonia.org/cu/blas"
)

// matmul starts a product with an epilogue, by cuBLASLt. The environment variable
// RESIDUA_CUBLASLT=0 switches it off.
func (d *Device) matmul(handle *cublas.Handle, g Gemm) error {
	if !g.fusible() {
		return errors.WithStack(ErrNoEpilogue)
	}
	plan, err := d.gpu.plan(handle, cublas.MatmulShape{
		TransA: operation(g.TransB), TransB: operation(g.TransA), M: g.N, N: g.M, K: g.K,
		Type: dataType(g.A.Type), LDA: g.LDB, LDB: g.LDA, DType: dataType(g.C.Type), LDD: g.LDC,
		Epilogue: epilogue(g.Epilogue), Compute: d.compute(g.A.Type), Workspace: MatmulWorkspace,
	})
	if err != nil {
		return err
	}
	workspace, err := d.Scratch(F32, MatmulWorkspace/F32.Size())
	if err != nil {
		return err
	}
	return plan.Run(g.Alpha, uintptr(g.B.Ptr), uintptr(g.A.Ptr), uintptr(g.C.Ptr), uintptr(g.Aux.Ptr), uintptr(workspace.Ptr))
}

func epilogue(e Epilogue) cublas.Epilogue {
	switch e {
	case GELU:
		return cublas.GELUAux
	case DGELU:
		return cublas.DGELU
	}
	return cublas.NoEpilogue
}

// plan returns the plan for a shape, which is made once. The error is ErrNoEpilogue if cuBLASLt has
// no such product or is not installed.
func (g *gpu) plan(handle *cublas.Handle, s cublas.MatmulShape) (*cublas.Matmul, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	plan, known := g.plans[s]
	if !known {
		if os.Getenv("RESIDUA_CUBLASLT") != "0" {
			plan, _ = handle.PlanMatmul(s)
		}
		g.plans[s] = plan
	}
	if plan == nil {
		return nil, errors.WithStack(ErrNoEpilogue)
	}
	return plan, nil
}
