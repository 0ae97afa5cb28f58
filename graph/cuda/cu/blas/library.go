// Package cublas binds cuBLAS at run time. It looks for the library that the environment variable
// RESIDUA_CUBLAS names, else for libcublas.so.13, .12 and .11, as far as the driver is new enough
// for them, where the dynamic loader finds libraries, in a CUDA toolkit's folders and in those of
// Python packages that contain it.
//
// [Handle] has the products that Residua makes; [Standard] is what Gorgonia's engine uses.
package cublas

import (
	"fmt"
	"strings"
	"sync"

	"gorgonia.org/cu"
	"gorgonia.org/cu/internal/dynlib"
)

// majors are the cuBLAS versions that are known to have the functions that this package calls, the
// newest first.
var majors = [...]int{13, 12, 11}

// library holds the functions of the open library.
type library struct {
	found                                                             *dynlib.Library
	create, destroy, getVersion, setStream, setWorkspace, setMathMode dynlib.Func
	gemmEx, gemmStridedBatchedEx                                      dynlib.Func
}

// symbols lists the functions with the names under which the library exports them.
func (l *library) symbols() []dynlib.Symbol {
	return []dynlib.Symbol{
		{Func: &l.create, Name: "cublasCreate_v2"},
		{Func: &l.destroy, Name: "cublasDestroy_v2"},
		{Func: &l.getVersion, Name: "cublasGetVersion_v2"},
		{Func: &l.setStream, Name: "cublasSetStream_v2"},
		{Func: &l.setWorkspace, Name: "cublasSetWorkspace_v2"},
		{Func: &l.setMathMode, Name: "cublasSetMathMode"},
		{Func: &l.gemmEx, Name: "cublasGemmEx"},
		{Func: &l.gemmStridedBatchedEx, Name: "cublasGemmStridedBatchedEx"},
	}
}

// load opens the library, once for the program.
var load = sync.OnceValues(openLibrary)

// openLibrary finds and binds the library.
func openLibrary() (*library, error) {
	driver, _, err := cu.DriverVersion()
	if err != nil {
		return nil, err
	}
	found, err := search(driver).Open()
	if err != nil {
		return nil, err
	}
	l := &library{found: found}
	return l, found.Bind(l.symbols())
}

// search returns where to look for cuBLAS, for a driver of the given CUDA version.
func search(driver int) dynlib.Search {
	s := dynlib.Search{What: "cuBLAS", Env: "RESIDUA_CUBLAS", Fix: "install cuBLAS of the CUDA toolkit, or by pip install nvidia-cublas-cu12",
		CUDA: true, Needs: func(name string) string { return strings.Replace(name, "libcublas.", "libcublasLt.", 1) }}
	for _, major := range majors {
		if major <= driver {
			s.Names = append(s.Names, fmt.Sprintf("libcublas.so.%d", major))
		}
	}
	return s
}
