package cublas

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
	"gorgonia.org/cu/internal/dynlib"
	"gorgonia.org/cu/internal/standin"
)

// gpu is the stand-in that the package's tests run on.
var gpu *standin.Library

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cublas")
	if err == nil {
		err = useStandin(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func useStandin(dir string) error {
	path, err := standin.Build(dir)
	if err != nil {
		return err
	}
	if gpu, err = standin.Load(path); err != nil {
		return err
	}
	if err := os.Setenv("RESIDUA_CUDA_DRIVER", path); err != nil {
		return err
	}
	return os.Setenv("RESIDUA_CUBLAS", path)
}

// use makes the stand-in's context current for the test.
func use(t testing.TB) cu.Context {
	t.Helper()
	c, err := cu.Device(0).MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	require.NoError(t, c.Lock())
	context := cu.CtxFromCUContext(0, c)
	t.Cleanup(func() {
		c.Unlock()
		require.NoError(t, context.Close())
	})
	return context
}

func newHandle(t testing.TB) *Handle {
	t.Helper()
	use(t)
	h, err := NewHandle()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

func TestNoLibrary(t *testing.T) {
	t.Setenv("RESIDUA_CUBLAS", "/nowhere/libcublas.so")
	_, err := openLibrary()
	require.ErrorContains(t, err, "no cuBLAS: RESIDUA_CUBLAS names /nowhere/libcublas.so")
}

func TestSearchSaysWhereItLooked(t *testing.T) {
	t.Setenv("RESIDUA_CUBLAS", "")
	t.Setenv("CUDA_HOME", "/nowhere/cuda")
	t.Setenv("VIRTUAL_ENV", "/nowhere/env")
	s := search(12)
	require.Equal(t, []string{"libcublas.so.12", "libcublas.so.11"}, s.Names, "none that is newer than the driver")
	require.Equal(t, "libcublas.so.13", search(13).Names[0])
	for i, name := range s.Names {
		s.Names[i] = "none-" + name
	}
	_, err := s.Open()
	for _, place := range []string{"the loader's path", "/nowhere/cuda/lib64", "/usr/local/cuda*/lib64",
		"/nowhere/env/lib/python3*/site-packages/nvidia/*/lib", "/usr/lib/python3*/dist-packages/nvidia/*/lib", "RESIDUA_CUBLAS"} {
		require.ErrorContains(t, err, place)
	}
}

func TestFindsPythonsLibrary(t *testing.T) {
	environment := t.TempDir()
	dir := filepath.Join(environment, "lib/python3.12/site-packages/nvidia/cublas/lib")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	built, err := standin.Build(dir)
	require.NoError(t, err)
	s := search(12)
	s.Env, s.Names = "RESIDUA_CUDA_TEST", []string{"standin.so"}
	_, err = s.Open()
	require.Error(t, err)
	t.Setenv("VIRTUAL_ENV", environment)
	library, err := s.Open()
	require.NoError(t, err)
	require.Equal(t, built, library.Path)
}

// TestFindsThatOfPython3: cuBLAS is found in the folders from which the python3 in the shell's path
// imports, together with the library that it needs from the same folder.
func TestFindsThatOfPython3(t *testing.T) {
	environment, bin := t.TempDir(), t.TempDir()
	packages := filepath.Join(environment, "site-packages")
	dir := filepath.Join(packages, "nvidia/cublas/lib")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	t.Setenv("RESIDUA_CUBLAS", "")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\necho "+packages+"\n"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	compile := func(name, text string, more ...string) {
		c, library := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(c, []byte(text), 0o644))
		out, err := exec.Command("cc", append([]string{"-shared", "-fPIC", "-o", library, c, "-Wl,-soname," + name}, more...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	compile("libcublasLt.so.12", "int lt(void) { return 12; }")
	compile("libcublas.so.12", "int lt(void); int blas(void) { return lt(); }", filepath.Join(dir, "libcublasLt.so.12"))
	library, err := search(12).Open()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "libcublas.so.12"), library.Path)
	var blas dynlib.Func
	require.NoError(t, library.Bind([]dynlib.Symbol{{Func: &blas, Name: "blas"}}))
	require.EqualValues(t, 12, blas.Call())
}

func TestHandle(t *testing.T) {
	h := newHandle(t)
	version, err := h.Version()
	require.NoError(t, err)
	require.Equal(t, 120401, version)
	require.NoError(t, h.SetStream(cu.NoStream))
	require.NoError(t, h.SetWorkspace(4096, 1<<20))
	require.EqualError(t, h.SetWorkspace(4100, 1<<20), "giving cuBLAS a workspace of 1048576 bytes: CUBLAS_STATUS_INVALID_VALUE")
	require.NoError(t, h.SetMathMode(FullReductions))
	require.EqualError(t, Status(99), "CUBLAS_STATUS_99")
}

func TestGemmEx(t *testing.T) {
	h := newHandle(t)
	g := GemmEx{TransA: OpT, TransB: OpN, M: 2, N: 3, K: 4, Alpha: 0.5, A: 256, AType: R16BF, LDA: 5,
		B: 512, BType: R16BF, LDB: 6, Beta: -2, C: 768, CType: R32F, LDC: 7, Compute: Compute32F}
	require.NoError(t, h.GemmEx(&g))
	require.Equal(t, standin.Product{Args: [20]int64{1, 0, 2, 3, 4, 256, 14, 5, 0, 512, 14, 6, 0, 768, 0, 7, 0, 0, 68, -1},
		Alpha: 0.5, Beta: -2}, gpu.LastProduct())

	gpu.FailProduct(int(NotSupported))
	require.EqualError(t, h.GemmEx(&g), "product [2, 4] [4, 3] (operations 1 0, types 14 14 0, leading dimensions 5 6 7, batch 0, compute type 68): CUBLAS_STATUS_NOT_SUPPORTED")
	g.LDB = 1 << 31
	require.ErrorContains(t, h.GemmEx(&g), "want sizes of 31 bits")
}

func TestGemmStridedBatchedEx(t *testing.T) {
	h := newHandle(t)
	g := GemmEx{M: 2, N: 3, K: 4, Alpha: 1, A: 256, LDA: 5, B: 512, LDB: 6, C: 768, LDC: 7, Batch: 9,
		StrideA: 1 << 33, StrideB: 20, StrideC: 30, Compute: Compute32FFastTF32, Algorithm: DefaultTensorOpAlgorithm}
	require.NoError(t, h.GemmStridedBatchedEx(&g))
	require.Equal(t, standin.Product{Args: [20]int64{0, 0, 2, 3, 4, 256, 0, 5, 1 << 33, 512, 0, 6, 20, 768, 0, 7, 30, 9, 77, 99}, Alpha: 1},
		gpu.LastProduct())
}

func TestGemmAllocatesNothing(t *testing.T) {
	h := newHandle(t)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		g := GemmEx{M: 2, N: 3, K: 4, Alpha: 1, LDA: 5, LDB: 6, LDC: 7, Batch: 2, Compute: Compute32F}
		_ = h.GemmEx(&g)
		_ = h.GemmStridedBatchedEx(&g)
	}))
}

func BenchmarkGemmEx(b *testing.B) {
	h := newHandle(b)
	g := GemmEx{M: 2, N: 3, K: 4, Alpha: 1, LDA: 5, LDB: 6, LDC: 7, Compute: Compute32F}
	b.ReportAllocs()
	for b.Loop() {
		_ = h.GemmEx(&g)
	}
}
