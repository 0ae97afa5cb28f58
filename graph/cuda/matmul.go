//go:build cuda

package cuda

import (
	"os"

	"github.com/pkg/errors"
	cublas "gorgonia.org/cu/blas"
)

// The values of RESIDUA_CUBLASLT: which products cuBLASLt runs.
const (
	noMatmul        = "0"
	epilogueMatmul  = ""        // those with an epilogue or addend, by the algorithms that it proposes first
	measuredMatmuls = "measure" // all of bfloat16 that it can, by the algorithms that are the fastest
)

// matmuls are a Device's products by cuBLASLt.
type matmuls struct {
	which     string                                // a value of RESIDUA_CUBLASLT
	plans     map[cublas.MatmulShape]*cublas.Matmul // a nil entry: cuBLASLt has no such product, or cuBLAS is faster
	workspace Array                                 // scratch memory that all products since the last Enter share
}

// newMatmuls reads the environment variable RESIDUA_CUBLASLT.
func newMatmuls() (matmuls, error) {
	which := os.Getenv("RESIDUA_CUBLASLT")
	switch which {
	case noMatmul, epilogueMatmul, measuredMatmuls:
		return matmuls{which: which, plans: map[cublas.MatmulShape]*cublas.Matmul{}}, nil
	}
	return matmuls{}, errors.Errorf("RESIDUA_CUBLASLT: want nothing, 0 (without cuBLASLt) or measure (the fastest of its algorithms), got %q", which)
}

// multiply starts a product, by cuBLASLt if there is a plan for it.
func (d *Device) multiply(handle *cublas.Handle, g Gemm) error {
	plan, err := d.plan(handle, g)
	switch {
	case err != nil:
		return err
	case plan != nil:
		return d.matmul(plan, g)
	case g.Epilogue != NoEpilogue:
		return errors.WithStack(ErrNoEpilogue)
	}
	return d.gemm(handle, g)
}

// plan returns the plan for a product, which is made once for its shape, or nil if there is none.
func (d *Device) plan(handle *cublas.Handle, g Gemm) (*cublas.Matmul, error) {
	m := &d.matmuls
	measured := m.which == measuredMatmuls
	plain := g.Epilogue == NoEpilogue && g.Addend.None()
	if m.which == noMatmul || plain && !measured || g.Batch != 0 || !g.fusible() {
		return nil, nil
	}
	s := cublas.MatmulShape{
		TransA: operation(g.TransB), TransB: operation(g.TransA), M: g.N, N: g.M, K: g.K,
		Type: dataType(g.A.Type), LDA: g.LDB, LDB: g.LDA, DType: dataType(g.C.Type), LDD: g.LDC,
		Adds: g.Beta != 0 || !g.Addend.None(), Apart: !g.Addend.None(), Reduction: cublas.FloatReduction, // sums stay in 32 bits
		Epilogue: epilogue(g.Epilogue), Compute: d.compute(g.A.Type), Workspace: MatmulWorkspace,
	}
	plan, known := m.plans[s]
	if known {
		return plan, nil
	}
	var err error
	if measured {
		plan, err = d.choose(handle, g, s)
	} else {
		plan, _ = handle.PlanMatmul(s, 1)
	}
	if err == nil {
		m.plans[s] = plan
	}
	return plan, errors.Wrapf(err, "RESIDUA_CUBLASLT=measure: %v", g)
}

// matmul starts a planned product.
func (d *Device) matmul(plan *cublas.Matmul, g Gemm) (err error) {
	workspace := &d.matmuls.workspace
	if workspace.None() {
		if *workspace, err = d.Scratch(F32, MatmulWorkspace/F32.Size()); err != nil {
			return err
		}
	}
	beta, added := g.Beta, g.C
	if !g.Addend.None() {
		beta, added = 1, g.Addend
	}
	return plan.Run(g.Alpha, uintptr(g.B.Ptr), uintptr(g.A.Ptr), beta, uintptr(added.Ptr), uintptr(g.C.Ptr), uintptr(g.Aux.Ptr), uintptr(workspace.Ptr))
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

// close frees the plans.
func (m *matmuls) close() {
	for _, plan := range m.plans {
		if plan != nil {
			plan.Close()
		}
	}
	clear(m.plans)
}
