//go:build cuda

package cuda

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// choiceTest is a product of [16, 24] and [24, 32] on a Device with a folder for choices.
type choiceTest struct {
	*testing.T
	*Device
	folder string
	Gemm
	want []float32 // A B
}

// newChoiceTest opens a Device with a value of RESIDUA_CUBLASLT. C is ones of the given type.
func newChoiceTest(t *testing.T, value string, c Type) *choiceTest {
	t.Helper()
	x := &choiceTest{T: t, folder: t.TempDir()}
	t.Setenv("XDG_CACHE_HOME", x.folder)
	t.Setenv("RESIDUA_CUBLASLT", value)
	t.Cleanup(func() { emulator.Delay() })
	x.open()
	const m, n, k = 16, 32, 24
	a, b := make([]float32, m*k), make([]float32, k*n)
	for i := range a {
		a[i] = float32(i%7) - 3
	}
	for i := range b {
		b[i] = float32(i%5) - 2
	}
	x.want = make([]float32, m*n)
	for i := range x.want {
		for j := range k {
			x.want[i] += a[i/n*k+j] * b[j*n+i%n]
		}
	}
	ones := make([]float32, m*n)
	for i := range ones {
		ones[i] = 1
	}
	x.Gemm = Gemm{M: m, N: n, K: k, Alpha: 1, A: x.put(a, BF16), LDA: k, B: x.put(b, BF16), LDB: n, C: x.put(ones, c), LDC: n}
	return x
}

// open opens a new Device, as another program would.
func (x *choiceTest) open() {
	x.Helper()
	d, err := Open(Options{Precision: PrecisionBF16})
	require.NoError(x, err)
	x.Cleanup(func() { assert.NoError(x, d.Close()) })
	x.Device = d
}

// put uploads values, which bfloat16 holds exactly.
func (x *choiceTest) put(values []float32, as Type) Array {
	x.Helper()
	from := onDevice(x.T, x.Device, values, 0)
	to, err := x.Alloc(as, len(values))
	require.NoError(x, err)
	x.Cleanup(func() { x.Free(to) })
	require.NoError(x, x.Convert(to, from))
	return to
}

func (x *choiceTest) get(a Array) []float32 {
	x.Helper()
	values := make([]float32, a.N)
	wide, err := x.Alloc(F32, a.N)
	require.NoError(x, err)
	defer x.Free(wide)
	require.NoError(x, x.Convert(wide, a))
	require.NoError(x, x.Download(unsafe.Pointer(&values[0]), wide))
	return values
}

func (x *choiceTest) run() {
	x.Helper()
	require.NoError(x, x.try(x.Gemm))
}

func (x *choiceTest) try(g Gemm) error {
	leave, err := x.Enter()
	if err != nil {
		return err
	}
	defer leave()
	return x.Device.Gemm(g)
}

// slow makes all products take a second on the device's clock, but those by one algorithm.
func slow(butOne int) {
	delays := make([]time.Duration, len(emulator.Counters().Algorithms))
	for i := range delays {
		if i != butOne {
			delays[i] = time.Second
		}
	}
	emulator.Delay(delays...)
}

// requireAlgorithm runs the product, which must be started once, by one algorithm: 0 is cuBLAS's.
func (x *choiceTest) requireAlgorithm(want int) {
	x.Helper()
	emulator.ResetCounters()
	x.run()
	count := emulator.Counters()
	require.Zero(x, count.Choices)
	require.EqualValues(x, 1, count.Products)
	require.EqualValues(x, 1, count.Algorithms[want], count.Algorithms)
}

func (x *choiceTest) file() string { return filepath.Join(x.folder, "residua", "cublaslt.json") }

func (x *choiceTest) read() (kept map[string]string) {
	x.Helper()
	text, err := os.ReadFile(x.file())
	require.NoError(x, err)
	require.NoError(x, json.Unmarshal(text, &kept))
	return kept
}

func onlyEmulated(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("needs the emulator's counters and clock")
	}
}

// TestFastestAlgorithm: the fastest algorithm is used, cuBLAS's own only if there is no epilogue.
func TestFastestAlgorithm(t *testing.T) {
	onlyEmulated(t)
	for _, want := range []int{0, 1, 3, 7} {
		x := newChoiceTest(t, "measure", F32)
		slow(want)
		emulator.ResetCounters()
		x.run()
		count := emulator.Counters()
		require.Equal(t, x.want, x.get(x.C))
		x.requireAlgorithm(want)
		require.NotZero(t, count.Algorithms[0], "cuBLAS was measured, too")
		require.Zero(t, count.Algorithms[8], "this one rounds partial sums to bfloat16")
	}
	x := newChoiceTest(t, "measure", BF16)
	x.Epilogue, x.Aux = GELU, x.put(make([]float32, x.C.N), BF16)
	slow(2)
	emulator.ResetCounters()
	x.run()
	require.Zero(t, emulator.Counters().Algorithms[0])
	x.requireAlgorithm(2)
	require.Equal(t, x.want, x.get(x.Aux))
}

// TestKeptAlgorithm: another program uses the algorithm that the file holds, without a measurement,
// and keeps what others have written there.
func TestKeptAlgorithm(t *testing.T) {
	onlyEmulated(t)
	for _, kept := range []int{0, 6} {
		x := newChoiceTest(t, "measure", BF16)
		slow(kept)
		x.run()
		slow(4)
		x.open()
		x.requireAlgorithm(kept)
		x.requireAlgorithm(kept)

		other := *x
		other.open()
		x.Alpha, x.Beta = 2, 1
		other.TransB, other.LDB = true, 24
		x.run()
		other.run()
		require.Len(t, x.read(), 3)
		for key := range x.read() {
			require.Contains(t, key, x.Name()+", compute capability ")
			require.Contains(t, key, "cuBLASLt 120103: {TransA:")
		}
	}
}

// TestDamagedChoices: a choice that cannot be used is replaced after a measurement. A file that
// cannot be read is an error, and stays as it is.
func TestDamagedChoices(t *testing.T) {
	onlyEmulated(t)
	x := newChoiceTest(t, "measure", BF16)
	slow(5)
	x.run()
	good, err := os.ReadFile(x.file())
	require.NoError(t, err)
	var digits string
	for _, digits = range x.read() {
		require.Len(t, digits, 128)
	}
	for _, bad := range []string{"", "{", "[]", "null", `{"a": 1}`} {
		require.NoError(t, os.WriteFile(x.file(), []byte(bad), 0o644))
		x.open()
		require.ErrorContains(t, x.try(x.Gemm), x.file()+": want the choices that a program has written: move the file away")
		now, err := os.ReadFile(x.file())
		require.NoError(t, err)
		require.Equal(t, bad, string(now))
	}
	for _, bad := range []string{"{}", strings.ReplaceAll(string(good), digits, digits[:120]),
		strings.ReplaceAll(string(good), digits, "zz"+digits[2:]), strings.ReplaceAll(string(good), digits, "77"+digits[2:])} {
		require.NoError(t, os.WriteFile(x.file(), []byte(bad), 0o644))
		x.open()
		emulator.ResetCounters()
		x.run()
		require.EqualValues(t, 1, emulator.Counters().Choices, bad)
		x.requireAlgorithm(5)
		now, err := os.ReadFile(x.file())
		require.NoError(t, err)
		require.Equal(t, string(good), string(now))
	}
}

// TestMeasuringHarmsNoResult: while it is measured, too, a product is added to C once, and whatever
// RESIDUA_CUBLASLT says it has the same result.
func TestMeasuringHarmsNoResult(t *testing.T) {
	for _, value := range []string{"", "0", "measure"} {
		for _, c := range []Type{F32, BF16} {
			x := newChoiceTest(t, value, c)
			x.Beta = 1
			for times := 1; times <= 3; times++ {
				x.run()
				want := make([]float32, len(x.want))
				for i, w := range x.want {
					want[i] = 1 + float32(times)*w
				}
				require.InDeltaSlice(t, want, x.get(x.C), 1e-5)
			}
		}
	}
}

// TestWhichProducts: RESIDUA_CUBLASLT says which products cuBLASLt runs.
func TestWhichProducts(t *testing.T) {
	onlyEmulated(t)
	for value, want := range map[string]struct{ plain, epilogue []uint64 }{
		"0":       {[]uint64{1, 0}, []uint64{0, 0}},
		"":        {[]uint64{1, 0}, []uint64{0, 1}},
		"measure": {[]uint64{44 + 0, 44 + 1}, []uint64{0, 44 + 1}}, // four rounds of eleven
	} {
		x := newChoiceTest(t, value, BF16)
		slow(1)
		check := func(g Gemm, choices int, products []uint64) {
			t.Helper()
			emulator.ResetCounters()
			err := x.try(g)
			if products[0]+products[1] == 0 {
				require.ErrorIs(t, err, ErrNoEpilogue)
			} else {
				require.NoError(t, err)
			}
			count := emulator.Counters()
			require.Equal(t, products, count.Algorithms[:2], value)
			require.EqualValues(t, choices, count.Choices)
		}
		g := x.Gemm
		check(g, map[string]int{"measure": 1}[value], want.plain)
		batched, unaligned := g, g
		batched.Batch, batched.StrideA, batched.StrideB, batched.StrideC = 1, 384, 768, 512
		unaligned.N = 31
		check(batched, 0, []uint64{1, 0})
		check(unaligned, 0, []uint64{1, 0})
		g.Epilogue, g.Aux = GELU, x.put(make([]float32, g.C.N), BF16)
		check(g, map[string]int{"measure": 1, "": 1}[value], want.epilogue)
	}
	t.Setenv("RESIDUA_CUBLASLT", "1")
	_, err := Open(Options{})
	require.EqualError(t, err, `RESIDUA_CUBLASLT: want nothing, 0 (without cuBLASLt) or measure (the fastest of its algorithms), got "1"`)
}

// TestFirstChoiceCounts: a choice that another program has made meanwhile stays in the file.
func TestFirstChoiceCounts(t *testing.T) {
	onlyEmulated(t)
	x := newChoiceTest(t, "measure", BF16)
	slow(3)
	x.run()
	first, err := os.ReadFile(x.file())
	require.NoError(t, err)
	key := ""
	for key = range x.read() {
	}
	chosen, err := keepChoice(x.file(), key, "", "a choice measured at the same time")
	require.NoError(t, err)
	require.Equal(t, x.read()[key], chosen)
	now, err := os.ReadFile(x.file())
	require.NoError(t, err)
	require.Equal(t, string(first), string(now))
}

// TestMeasuringInAProfile: a profile has only the product itself; measuring counts as waiting.
func TestMeasuringInAProfile(t *testing.T) {
	onlyEmulated(t)
	x := newChoiceTest(t, "measure", BF16)
	slow(2)
	require.NoError(t, x.StartProfile())
	x.run()
	x.run()
	all, err := x.StopProfile()
	require.NoError(t, err)
	var got []string
	for _, timing := range all {
		got = append(got, timing.String())
		if timing.Product != nil {
			require.Less(t, timing.Took, time.Second)
		}
	}
	require.Equal(t, []string{"between ops", "between ops", x.Gemm.String(), "between ops", x.Gemm.String()}, got)
	require.Greater(t, all[1].Took, time.Second)
}

// TestMeasuredProductAllocatesNothing: once it is measured.
func TestMeasuredProductAllocatesNothing(t *testing.T) {
	x := newChoiceTest(t, "measure", BF16)
	leave, err := x.Enter()
	require.NoError(t, err)
	defer leave()
	require.Zero(t, testing.AllocsPerRun(10, func() { err = x.Device.Gemm(x.Gemm) }))
	require.NoError(t, err)
}

// TestChoicesWithoutAFolder: a choice that cannot be kept is an error that names the product.
func TestChoicesWithoutAFolder(t *testing.T) {
	x := newChoiceTest(t, "measure", BF16)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(x.folder, "file"))
	require.NoError(t, os.WriteFile(filepath.Join(x.folder, "file"), nil, 0o644))
	require.ErrorContains(t, x.try(x.Gemm), "RESIDUA_CUBLASLT=measure: 16 x 24 x 32 bf16: "+filepath.Join(x.folder, "file", "residua", "cublaslt.json"))
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	require.ErrorContains(t, x.try(x.Gemm), "RESIDUA_CUBLASLT=measure: 16 x 24 x 32 bf16: neither $XDG_CACHE_HOME nor $HOME are defined")
}
