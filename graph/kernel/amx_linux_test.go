package kernel

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/longtest"
)

// TestTilesAreTaken: a machine whose processor and kernel have AMX uses it, unless GODEBUG switches
// instructions off.
func TestTilesAreTaken(t *testing.T) {
	if strings.Contains(os.Getenv("GODEBUG"), "cpu.") {
		t.Skip("GODEBUG chooses instructions")
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	require.NoError(t, err)
	if runtime.GOARCH != "amd64" || !bytes.Contains(info, []byte(" amx_bf16 ")) {
		t.Skip("this processor has no AMX for bfloat16")
	}
	require.Empty(t, tilesMissing)
	require.Equal(t, "float32 by avx512, bfloat16 by AMX", Instructions())
	require.Equal(t, []string{"avx512", "amx"}, []string{PathOf(false), PathOf(true)})
}

// float32Digest returns a digest of what float32 products and attention compute.
func float32Digest() string {
	digest := sha256.New()
	o := makeOperands[float32](gemmCase{m: 70, n: 90, k: 400, alpha: 1})
	o.runSerial(&Gemm[float32]{})
	c := newAttentionCase(1, 150, 2, 32, true, 100, false)
	out, lse, qkv := make([]float32, 150*64), make([]float32, 300), castTo[float32](c.randomQKV(1))
	(&Attention[float32]{}).Forward(nil, Of(out), lse, Of(qkv), nil, c.AttentionParams)
	for _, x := range [][]float32{o.c, out, lse} {
		_ = binary.Write(digest, binary.LittleEndian, x)
	}
	return fmt.Sprintf("%x", digest.Sum(nil))
}

// TestFloat32WithoutAMX: float32 has the same bits if AMX is switched off.
func TestFloat32WithoutAMX(t *testing.T) {
	const child = "RESIDUA_TEST_FLOAT32_DIGEST"
	if os.Getenv(child) != "" {
		fmt.Printf("%s %s\n", PathOf(true), float32Digest())
		return
	}
	needTiles(t)
	run := exec.Command(os.Args[0], "-test.run=^TestFloat32WithoutAMX$")
	run.Env = append(os.Environ(), child+"=1", "GODEBUG=cpu.amxbf16=off")
	said, err := run.Output()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(said), "avx512 "+float32Digest()), string(said))
}

// TestTilesUnderStress multiplies by tiles in many goroutines, under all that takes a processor
// from a goroutine or interrupts it, and compares every product with the first: garbage collection
// without end, profiling signals at 1000 Hz, others as fast as another process sends them,
// goroutines locked to threads, more threads than processors, children.
func TestTilesUnderStress(t *testing.T) {
	const bombard = "RESIDUA_TEST_BOMBARD"
	if pid, err := strconv.Atoi(os.Getenv(bombard)); err == nil {
		for i := 0; syscall.Kill(pid, []syscall.Signal{syscall.SIGURG, syscall.SIGWINCH}[i%2]) == nil; i++ {
			if i%8 == 7 {
				time.Sleep(20 * time.Microsecond)
			}
		}
		return
	}
	needTiles(t)
	goroutines, seconds := 20, 1
	switch {
	case longtest.Exhaustive():
		goroutines, seconds = 300, 20
	case longtest.Enabled():
		goroutines, seconds = 300, 5
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var profile bytes.Buffer
	runtime.SetCPUProfileRate(1000)
	require.NoError(t, pprof.StartCPUProfile(&profile))
	defer pprof.StopCPUProfile()
	handled := make(chan os.Signal, 100)
	signal.Notify(handled, syscall.SIGWINCH)
	defer signal.Stop(handled)
	bomber := exec.Command(os.Args[0], "-test.run=^TestTilesUnderStress$")
	bomber.Env = append(os.Environ(), bombard+"="+strconv.Itoa(os.Getpid()))
	require.NoError(t, bomber.Start())

	var stop atomic.Bool
	var products, wrong, signals, children atomic.Int64
	var all sync.WaitGroup
	for n := range goroutines {
		all.Go(func() {
			if n%4 == 0 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			r := rand.New(rand.NewPCG(uint64(n), 1))
			o := makePairOperands(gemmCase{m: 1 + r.IntN(60), n: 1 + r.IntN(200), k: 1 + r.IntN(700), ta: n%2 == 0, tb: n%3 == 0, alpha: 1})
			want := o.runSingle(&GemmBFloat16[float32]{path: amx}, nil)
			for !stop.Load() {
				if got := o.runSingle(&GemmBFloat16[float32]{path: amx}, nil); !slices.Equal(want, got) {
					wrong.Add(1)
				}
				products.Add(1)
			}
		})
	}
	all.Go(func() {
		for !stop.Load() {
			runtime.GC()
			if exec.Command("/bin/true").Run() == nil {
				children.Add(1)
			}
		}
	})
	all.Go(func() {
		for !stop.Load() {
			select {
			case <-handled:
				signals.Add(1)
			case <-time.After(time.Millisecond):
			}
		}
	})
	time.Sleep(time.Duration(seconds) * time.Second)
	stop.Store(true)
	all.Wait()
	require.NoError(t, bomber.Process.Kill())
	_ = bomber.Wait()
	t.Logf("%d products, %d signals handled, %d children", products.Load(), signals.Load(), children.Load())
	require.Zero(t, wrong.Load())
	assert.Positive(t, products.Load())
	assert.Positive(t, signals.Load())
}

// TestTilesWithCgo runs a program whose products are computed in threads of C, too.
func TestTilesWithCgo(t *testing.T) {
	needTiles(t)
	longtest.Represent(t, false) // builds a program with cgo
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no C compiler")
	}
	run := exec.Command("go", "run", "./testdata/cgostress")
	run.Env = append(os.Environ(), "CGO_ENABLED=1")
	said, err := run.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "amx 8000 products, 0 wrong")
}
