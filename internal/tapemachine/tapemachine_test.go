//go:build cuda

// Package tapemachine tests the module graph/cuda/cu under Gorgonia's own tape machine.
package tapemachine

import (
	"log"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/cuda/emulator"
)

// withoutDriver is set for the process that tests a machine without a driver.
const withoutDriver = "RESIDUA_TEST_WITHOUT_DRIVER"

func TestMain(m *testing.M) {
	if os.Getenv(withoutDriver) != "" {
		os.Exit(m.Run())
	}
	if err := cuda.Stock(gorgonia.AddToStdLib); err != nil {
		log.Fatal(err)
	}
	emulator.Main(m)
}

// ops is more than Gorgonia's own binding held in a batch.
const ops = 400

// device holds the context during a test, and returns the step of its ops: ones.
func device(t *testing.T, shape tensor.Shape) cu.DevicePtr {
	t.Helper()
	gpu, err := cu.GetDevice(0)
	require.NoError(t, err)
	c, err := gpu.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Release()) })
	step, err := cu.MemAlloc(bytes(shape))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cu.MemFree(step)) })
	one := ones(shape)
	require.NoError(t, c.Lock())
	defer c.Unlock()
	require.NoError(t, cu.MemcpyHtoDAsync(step, unsafe.Pointer(&one[0]), bytes(shape), cu.NoStream))
	require.NoError(t, cu.Synchronize())
	return step
}

func ones(shape tensor.Shape) []float32 {
	x := make([]float32, shape.TotalSize())
	for i := range x {
		x[i] = 1
	}
	return x
}

// input returns a node of ones on the CPU.
func input(g *gorgonia.ExprGraph, shape tensor.Shape) *gorgonia.Node {
	return gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName("x"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(ones(shape)))))
}

// chain applies n increments.
func chain(t *testing.T, x *gorgonia.Node, n int, step cu.DevicePtr, shape tensor.Shape) *gorgonia.Node {
	t.Helper()
	for i := range n {
		op, err := newIncrement(i, step, shape)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, cu.MemFree(op.out)) })
		x, err = gorgonia.ApplyOp(op, x)
		require.NoError(t, err)
	}
	return x
}

// newMachine makes a tape machine, and returns its panic as failure.
func newMachine(g *gorgonia.ExprGraph) (m gorgonia.VM, failure any) {
	defer func() { failure = recover() }()
	return gorgonia.NewTapeMachine(g), nil
}

func TestLongChain(t *testing.T) {
	before := runtime.NumGoroutine()
	shape := tensor.Shape{3, 700}
	step := device(t, shape)
	g := gorgonia.NewGraph()
	var got gorgonia.Value
	gorgonia.Read(chain(t, input(g, shape), ops, step, shape), &got)
	m, failure := newMachine(g)
	require.Nil(t, failure)
	for range 3 {
		require.NoError(t, m.RunAll())
		for _, x := range got.Data().([]float32) {
			require.Equal(t, float32(1+ops), x)
		}
		m.Reset()
	}
	require.NoError(t, m.Close())
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 5*time.Second, 10*time.Millisecond, // the one that asks
		"Close ends the machine's goroutines")
}

// Each machine holds the same context: when one is closed, the others still work.
func TestCloseOfOneMachine(t *testing.T) {
	shape := tensor.Shape{2, 8}
	step := device(t, shape)
	machine := func() (gorgonia.VM, *gorgonia.Value) {
		g, got := gorgonia.NewGraph(), new(gorgonia.Value)
		gorgonia.Read(chain(t, input(g, shape), 2, step, shape), got)
		m, failure := newMachine(g)
		require.Nil(t, failure)
		return m, got
	}
	first, _ := machine()
	second, got := machine()
	require.NoError(t, first.RunAll())
	require.NoError(t, first.Close())
	require.NoError(t, second.RunAll())
	require.Equal(t, float32(3), (*got).Data().([]float32)[0])
	require.NoError(t, second.Close())
}

// Gorgonia's own sum adds two values on the GPU, in its own arena, with our kernel.
func TestStockSum(t *testing.T) {
	shape := tensor.Shape{5, 1000}
	step := device(t, shape)
	g := gorgonia.NewGraph()
	a := chain(t, input(g, shape), 1, step, shape)
	b := chain(t, a, 2, step, shape)
	sum, err := gorgonia.Add(a, b)
	require.NoError(t, err)
	var got gorgonia.Value
	gorgonia.Read(sum, &got)
	m, failure := newMachine(g)
	require.Nil(t, failure)
	require.NoError(t, m.RunAll())
	for _, x := range got.Data().([]float32) {
		require.Equal(t, float32(2+4), x)
	}
	require.NoError(t, m.Close())
}

// A machine without enough memory for its arena returns an error, and does not wait for the engine,
// which did not start.
func TestWithoutMemory(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("a GPU has enough")
	}
	if os.Getenv("RESIDUA_EMULATOR_MEMORY") == "" {
		inChild(t, "RESIDUA_EMULATOR_MEMORY=65536")
		return
	}
	shape := tensor.Shape{100, 100}
	step := device(t, shape)
	g := gorgonia.NewGraph()
	_, err := gorgonia.ApplyOp(&increment{step: step, shape: shape}, input(g, shape))
	require.NoError(t, err)
	_, failure := newMachine(g)
	require.ErrorContains(t, failure.(error), "Free memory available")
}

// inChild runs the test in a process with a changed environment.
func inChild(t *testing.T, environment ...string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	child.Env = append(os.Environ(), environment...)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
}

func TestWithoutDriver(t *testing.T) {
	if os.Getenv(withoutDriver) == "" {
		inChild(t, withoutDriver+"=1", "RESIDUA_CUDA_DRIVER=/nowhere/libcuda.so.1")
		return
	}
	g := gorgonia.NewGraph()
	shape := tensor.Shape{2, 8}
	_, err := gorgonia.ApplyOp(&increment{shape: shape}, input(g, shape))
	require.NoError(t, err)
	_, failure := newMachine(g)
	require.ErrorContains(t, failure.(error), "no CUDA driver: RESIDUA_CUDA_DRIVER names /nowhere/libcuda.so.1")
}
