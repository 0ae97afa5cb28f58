//go:build cuda

package emulator

import (
	"fmt"
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"
)

// newHandle returns a handle of the emulated cuBLAS.
func newHandle(t *testing.T) *cublas.Handle {
	h, err := cublas.NewHandle()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

// element returns the entry of op(X) for a column-major matrix X.
func element(x []float64, ld int, op cublas.Operation, row, column int) float64 {
	if op == cublas.OpT {
		row, column = column, row
	}
	return x[column*ld+row]
}

// gemmCase is one combination of types with which cuBLAS is called.
type gemmCase struct {
	name      string
	inputs    cublas.DataType
	output    cublas.DataType
	compute   cublas.ComputeType
	rounded   func(float32) float32
	tolerance float64
}

func same(x float32) float32 { return x }

var gemmCases = []gemmCase{
	{"f32", cublas.R32F, cublas.R32F, cublas.Compute32F, same, 1e-4},
	{"f64", cublas.R64F, cublas.R64F, cublas.Compute64F, same, 1e-9},
	{"bf16 to f32", cublas.R16BF, cublas.R32F, cublas.Compute32F, roundedBF16, 1e-4},
	{"bf16 to bf16", cublas.R16BF, cublas.R16BF, cublas.Compute32F, roundedBF16, 0.13}, // half a step between 32 and 64
	{"tf32", cublas.R32F, cublas.R32F, cublas.Compute32FFastTF32, tf32Of, 1e-4},
	{"f32 as bf16", cublas.R32F, cublas.R32F, cublas.Compute32FFast16BF, roundedBF16, 1e-4},
}

// encode returns x as bytes of the given type.
func encode(x []float64, as cublas.DataType) []byte {
	var out []byte
	for _, v := range x {
		var word [8]byte
		n := 4
		switch as {
		case cublas.R64F:
			*(*float64)(unsafe.Pointer(&word)), n = v, 8
		case cublas.R32F:
			*(*float32)(unsafe.Pointer(&word)) = float32(v)
		default:
			*(*uint16)(unsafe.Pointer(&word)), n = bf16Of(float32(v)), 2
		}
		out = append(out, word[:n]...)
	}
	return out
}

func decode(b []byte, as cublas.DataType) []float64 {
	var out []float64
	for len(b) > 0 {
		switch as {
		case cublas.R64F:
			out, b = append(out, *(*float64)(unsafe.Pointer(&b[0]))), b[8:]
		case cublas.R32F:
			out, b = append(out, float64(*(*float32)(unsafe.Pointer(&b[0])))), b[4:]
		default:
			out, b = append(out, float64(fromBF16(*(*uint16)(unsafe.Pointer(&b[0]))))), b[2:]
		}
	}
	return out
}

func doubles(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// expected computes alpha op(A) op(B) + beta C by its definition, for one product of a batch.
func expected(g *cublas.GemmEx, c gemmCase, x, y, z []float64) []float64 {
	out := make([]float64, len(z))
	copy(out, z)
	round := func(v float64) float64 {
		if c.inputs == cublas.R64F {
			return v
		}
		return float64(c.rounded(float32(v)))
	}
	for i := range g.M {
		for j := range g.N {
			sum := 0.0
			for k := range g.K {
				sum += round(element(x, g.LDA, g.TransA, i, k)) * round(element(y, g.LDB, g.TransB, k, j))
			}
			out[j*g.LDC+i] = g.Alpha * sum
			if g.Beta != 0 {
				out[j*g.LDC+i] += g.Beta * z[j*g.LDC+i]
			}
		}
	}
	return out
}

func TestGemm(t *testing.T) {
	for _, c := range gemmCases {
		for _, ops := range [][2]cublas.Operation{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
			t.Run(fmt.Sprintf("%s/%v", c.name, ops), func(t *testing.T) {
				d, h := newDevice(t), newHandle(t)
				checkGemm(d, h, c, cublas.GemmEx{TransA: ops[0], TransB: ops[1], M: 37, N: 6, K: 19, Alpha: 0.5, Beta: -2}, 3)
				checkGemm(d, h, c, cublas.GemmEx{TransA: ops[0], TransB: ops[1], M: 1, N: 1, K: 300, Alpha: 1, Beta: 1}, 1)
			})
		}
	}
}

// checkGemm compares a batch with the definition, for matrices with unused memory around them.
func checkGemm(d *device, h *cublas.Handle, c gemmCase, g cublas.GemmEx, batch int) {
	side := max(g.M, g.N, g.K) + 3
	g.LDA, g.LDB, g.LDC = side, side, side
	size := side * side
	x, y, z := doubles(normal(size*batch)), doubles(normal(size*batch+1)), doubles(normal(size*batch+2))
	result := upload(d, encode(z, c.output))
	g.A, g.B, g.C = uintptr(upload(d, encode(x, c.inputs))), uintptr(upload(d, encode(y, c.inputs))), uintptr(result)
	g.AType, g.BType, g.CType, g.Compute = c.inputs, c.inputs, c.output, c.compute
	g.StrideA, g.StrideB, g.StrideC, g.Batch = size, 0, size, batch
	if batch == 1 {
		require.NoError(d, h.GemmEx(&g))
	} else {
		require.NoError(d, h.GemmStridedBatchedEx(&g))
	}
	z = decode(encode(z, c.output), c.output)
	got := decode(download[byte](d, result, len(encode(z, c.output))), c.output)
	for i := range batch {
		part := func(v []float64) []float64 { return v[i*size : (i+1)*size] }
		require.InDeltaSlice(d, expected(&g, c, part(x), y, part(z)), part(got), c.tolerance)
	}
}

// square returns the product C = A B of n x n matrices in float32.
func square(n int, a, b, c cu.DevicePtr) cublas.GemmEx {
	return cublas.GemmEx{
		M: n, N: n, K: n, Alpha: 1, A: uintptr(a), LDA: n, B: uintptr(b), LDB: n, C: uintptr(c), LDC: n,
		Compute: cublas.Compute32F,
	}
}

// With beta 0 the old content of C is not read.
func TestGemmOverwritesNaN(t *testing.T) {
	d, h := newDevice(t), newHandle(t)
	x, y := upload(d, []float32{1, 2, 3, 4}), alloc[float32](d, 4)
	g := square(2, x, x, y)
	require.NoError(t, h.GemmEx(&g))
	require.Equal(t, []float32{7, 10, 15, 22}, download[float32](d, y, 4))
}

func TestGemmErrors(t *testing.T) {
	d, h := newDevice(t), newHandle(t)
	x := alloc[float32](d, 16)
	good := square(4, x, x, alloc[float32](d, 16))
	require.NoError(t, h.GemmEx(&good))
	for name, test := range map[string]struct {
		want   string
		change func(g *cublas.GemmEx)
	}{
		"types":                    {"NOT_SUPPORTED", func(g *cublas.GemmEx) { g.AType = cublas.R16BF }},
		"rows too short":           {"INVALID_VALUE", func(g *cublas.GemmEx) { g.LDB = 3 }},
		"a result over an operand": {"INVALID_VALUE", func(g *cublas.GemmEx) { g.C = g.A + 16 }},
		"beyond the memory":        {"EXECUTION_FAILED", func(g *cublas.GemmEx) { g.C += 4 }},
	} {
		bad := good
		test.change(&bad)
		require.ErrorContains(t, h.GemmEx(&bad), test.want, name)
		Restore()
	}
	LoseDevice()
	require.ErrorContains(t, h.GemmEx(&good), "EXECUTION_FAILED")
	Restore()
}

// TestGemmIsFast bounds the time of a product of 256 x 256 x 256, generously for busy machines.
func TestGemmIsFast(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement")
	}
	d, h := newDevice(t), newHandle(t)
	const n = 256
	x := upload(d, normal(n*n))
	g := square(n, x, x, alloc[float32](d, n*n))
	best := time.Duration(math.MaxInt64)
	for range 10 {
		start := time.Now()
		require.NoError(t, h.GemmEx(&g))
		best = min(best, time.Since(start))
	}
	t.Logf("%v", best)
	require.Less(t, best, 50*time.Millisecond)
}

// TestMatmulAlgorithms: cuBLASLt proposes algorithms that fit the workspace, and takes only its own
// for the same shape.
func TestMatmulAlgorithms(t *testing.T) {
	newDevice(t)
	h := newHandle(t)
	s := cublas.MatmulShape{M: 8, N: 8, K: 8, Type: cublas.R16BF, LDA: 8, LDB: 8, DType: cublas.R16BF, LDD: 8,
		Epilogue: cublas.NoEpilogue, Compute: cublas.Compute32F, Workspace: 1 << 20}
	plan := func(most int) *cublas.Matmul {
		m, err := h.PlanMatmul(s, most)
		require.NoError(t, err)
		t.Cleanup(m.Close)
		return m
	}
	require.Equal(t, 1, plan(1).Algorithms())
	all := plan(99)
	require.Equal(t, cublas.MostAlgorithms, all.Algorithms())
	all.Use(6)
	other := s
	other.N = 16
	for _, c := range []struct {
		shape     cublas.MatmulShape
		algorithm cublas.MatmulAlgorithm
		works     bool
	}{{s, all.Algorithm(), true}, {other, all.Algorithm(), false}, {s, cublas.MatmulAlgorithm{9}, false}} {
		m, err := h.RestoreMatmul(c.shape, c.algorithm)
		require.Equal(t, c.works, err == nil, err)
		if c.works {
			require.Equal(t, c.algorithm, m.Algorithm())
			m.Close()
		}
	}
	s.Workspace = 1<<20 - 1
	require.Equal(t, 4, plan(8).Algorithms())
	_, err := h.RestoreMatmul(s, all.Algorithm())
	require.ErrorIs(t, err, cublas.NotSupported)
	s.Compute = cublas.Compute64F
	_, err = h.PlanMatmul(s, 8)
	require.ErrorIs(t, err, cublas.NotSupported)
	version, err := cublas.MatmulVersion()
	require.NoError(t, err)
	require.Equal(t, 120103, version)
}
