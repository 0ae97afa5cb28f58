//go:build cuda

package emulator

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"
)

// TestMain builds the emulator with the test's kernels instead of the product's.
func TestMain(m *testing.M) {
	if !Emulated() {
		fmt.Println("these tests are of the emulator, RESIDUA_GPU=1 leaves it out")
		return
	}
	os.Exit(runWithProbes(m))
}

func runWithProbes(m *testing.M) int {
	folder, err := os.MkdirTemp("", "probes")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	for _, path := range []string{"testdata/probe.cu", "../prelude.cuh"} {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(path)), text, 0o644)
		}
		if err != nil {
			panic(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	probes, err := open(filepath.Join(here, "native"), folder, filepath.Join(folder, "build"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	load = func() (*library, error) { return probes, nil }
	return m.Run()
}

// device is the emulated device with the probes loaded.
type device struct {
	*testing.T
	module cu.Module
}

var (
	probeKernel = regexp.MustCompile(`KERNEL\((\d+)\) (\w+)\(`)
	probeShared = regexp.MustCompile(`__shared__ (?:int|u32|float) (\w+)\[(\d+)\];`)
)

// probePTX returns the parts of the PTX that the driver's stand-in reads: the kernels' names, their
// largest numbers of threads, and their static shared memory, with types of four bytes.
func probePTX(t testing.TB) string {
	text, err := os.ReadFile("testdata/probe.cu")
	require.NoError(t, err)
	var ptx strings.Builder
	ptx.WriteString(".version 8.1\n.target sm_80\n")
	kernels := probeKernel.FindAllSubmatchIndex(text, -1)
	for i, at := range kernels {
		end := len(text)
		if i+1 < len(kernels) {
			end = kernels[i+1][0]
		}
		fmt.Fprintf(&ptx, ".visible .entry %s(\n)\n.maxntid %s, 1, 1\n{\n", text[at[4]:at[5]], text[at[2]:at[3]])
		for _, array := range probeShared.FindAllSubmatch(text[at[1]:end], -1) {
			count, err := strconv.Atoi(string(array[2]))
			require.NoError(t, err)
			fmt.Fprintf(&ptx, " .shared .align 4 .b8 %s_%s[%d];\n", text[at[4]:at[5]], array[1], 4*count)
		}
		ptx.WriteString(" ret;\n}\n")
	}
	return ptx.String()
}

// newDevice makes the device current on the test's thread.
func newDevice(t *testing.T) *device {
	Restore()
	gpu, err := cu.GetDevice(0)
	require.NoError(t, err)
	context, err := gpu.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	require.NoError(t, context.Lock())
	module, err := cu.LoadData(probePTX(t))
	require.NoError(t, err)
	t.Cleanup(func() {
		Restore()
		require.NoError(t, module.Unload())
		context.Unlock()
		require.NoError(t, context.Release())
	})
	return &device{T: t, module: module}
}

// grid is the shape of a launch.
type grid struct {
	blocks, threads cu.Dim
	shared          int
}

func line(blocks, threads int) grid {
	return grid{blocks: cu.Dim{X: uint32(blocks), Y: 1, Z: 1}, threads: cu.Dim{X: uint32(threads), Y: 1, Z: 1}}
}

// launch runs a kernel and returns its error. Each argument may have any type of a fixed size.
func (d *device) launch(name string, g grid, args ...any) error {
	return d.launchOn(cu.NoStream, name, g, args...)
}

// launchOn runs a kernel on a stream as launch does.
func (d *device) launchOn(s cu.Stream, name string, g grid, args ...any) error {
	f, err := d.module.Function(name)
	require.NoError(d, err)
	if g.shared > 48<<10 {
		require.NoError(d, f.SetMaxDynamicShared(g.shared))
	}
	values := make([]uint64, len(args))
	addresses := make([]unsafe.Pointer, len(args))
	var pin runtime.Pinner
	defer pin.Unpin()
	for i, a := range args {
		values[i] = bitsOf(d, a)
		addresses[i] = unsafe.Pointer(&values[i])
		pin.Pin(addresses[i])
	}
	return cu.LaunchRaw(f, g.blocks, g.threads, uint32(g.shared), s, unsafe.SliceData(addresses))
}

func bitsOf(t require.TestingT, arg any) (bits uint64) {
	switch a := arg.(type) {
	case cu.DevicePtr:
		return uint64(a)
	case int32:
		return uint64(uint32(a))
	case int64:
		return uint64(a)
	case uint32:
		return uint64(a)
	case float32:
		*(*float32)(unsafe.Pointer(&bits)) = a
	case float64:
		*(*float64)(unsafe.Pointer(&bits)) = a
	default:
		require.Failf(t, "argument", "no kernel takes a %T", arg)
	}
	return bits
}

// alloc allocates memory for n elements of type E, which is freed when the test ends.
func alloc[E any](d *device, n int) cu.DevicePtr {
	var e E
	p, err := cu.MemAlloc(int64(n) * int64(unsafe.Sizeof(e)))
	require.NoError(d, err)
	d.Cleanup(func() {
		Restore()
		_ = cu.MemFree(p) // some tests damage what lies around it
		Restore()
	})
	return p
}

func upload[E any](d *device, host []E) cu.DevicePtr {
	p := alloc[E](d, len(host))
	size := int64(len(host)) * int64(unsafe.Sizeof(host[0]))
	require.NoError(d, cu.MemcpyHtoDAsync(p, unsafe.Pointer(&host[0]), size, cu.NoStream))
	return p
}

func download[E any](d *device, p cu.DevicePtr, n int) []E {
	host := make([]E, n)
	size := int64(n) * int64(unsafe.Sizeof(host[0]))
	require.NoError(d, cu.MemcpyDtoHAsync(unsafe.Pointer(&host[0]), p, size, cu.NoStream))
	require.NoError(d, cu.NoStream.Synchronize())
	return host
}

// orders runs a test in each order of threads.
func orders(t *testing.T, test func(d *device)) {
	for _, order := range []string{"forward", "backward", "shuffle"} {
		t.Run(order, func(t *testing.T) {
			t.Setenv("RESIDUA_EMULATOR_ORDER", order)
			test(newDevice(t))
		})
	}
}
