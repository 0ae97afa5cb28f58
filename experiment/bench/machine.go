package bench

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// Machine says what this computer can do: the best of the measurements made between turns. A
// GPU's peak is not measured but taken from its data sheet.
type Machine struct {
	Threads    int             `json:"threads"`
	PeakGFLOPS float64         `json:"peak_gflops"`          // by our matrix product of peakSide^3 in that precision; 0: unknown
	CopyGBs    float64         `json:"copy_gb_s,omitempty"`  // bytes read plus bytes written
	Processor  string          `json:"processor,omitempty"`  // its model name
	Multiplies string          `json:"multiplies,omitempty"` // by which instructions, kernel.Instructions
	Path       string          `json:"path,omitempty"`       // graph.PathOf the precision
	GPU        string          `json:"gpu,omitempty"`        // its name, if models train on a GPU
	Precision  graph.Precision `json:"precision,omitempty"`  // in which models compute; "": float32
}

// The sizes in the two measurements: the copy is far larger than any cache.
const (
	peakSide    = 1536
	copyBytes   = 128 << 20
	machineTime = 150 * time.Millisecond
)

// newMachine describes the target; peak is a GPU's in TFLOPS, 0 to look it up.
func newMachine(t Target, peak float64) (*Machine, error) {
	if t.Threads == 0 {
		t.Threads = runtime.GOMAXPROCS(0)
	}
	m := &Machine{Threads: t.Threads, Precision: t.Precision, Processor: processorName(), Multiplies: kernel.Instructions()}
	if !t.onGPU() {
		m.Path = graph.PathOf(t.Precision)
	} else {
		name, err := gpuName(t.Device)
		if err != nil {
			return nil, err
		}
		if t.Precision == "" {
			t.Precision = graph.TF32
		}
		if peak == 0 {
			peak = peakTFLOPS(name, t.Precision)
		}
		m.GPU, m.Precision, m.PeakGFLOPS = name, t.Precision, 1e3*peak
	}
	return m, nil
}

// processorName returns the processor's model name, as Linux has it; elsewhere "".
func processorName() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	_, name, _ := strings.Cut(string(info), "model name")
	name, _, _ = strings.Cut(name, "\n")
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), ":"))
}

// precision returns the type of the numbers that are multiplied.
func (m *Machine) precision() string {
	return cmp.Or(string(m.Precision), "float32")
}

// name returns the name of the processor or GPU.
func (m *Machine) name() string {
	if m.GPU != "" {
		return m.GPU
	}
	return fmt.Sprintf("%d threads", m.Threads)
}

// share returns a speed as a fraction of the peak, 0 if that is unknown.
func (m *Machine) share(gflops float64) float64 {
	if m.PeakGFLOPS == 0 {
		return 0
	}
	return gflops / m.PeakGFLOPS
}

// measure measures the CPU once and keeps the best results; it frees its memory again.
func (m *Machine) measure(pool *kernel.Pool) {
	if m.GPU != "" {
		return
	}
	square := newProduct(productShape{M: peakSide, K: peakSide, N: peakSide})
	multiply := square.in(m.Precision)
	best := slices.Min(times(machineTime, func() { multiply(pool) }))
	m.PeakGFLOPS = max(m.PeakGFLOPS, square.shape.flops()/best/1e9)
	c := &copyTask{from: slices.Repeat([]float32{1}, copyBytes/4), to: make([]float32, copyBytes/4)}
	c.run(pool) // touches the pages for the first time
	best = slices.Min(times(machineTime, func() { c.run(pool) }))
	m.CopyGBs = max(m.CopyGBs, 2*copyBytes/best/1e9)
	debug.FreeOSMemory()
}

// copyTask copies memory in parallel.
type copyTask struct{ from, to []float32 }

func (c *copyTask) run(p *kernel.Pool) { p.Do(len(c.from), c) }

// Part copies the elements [lo, hi).
func (c *copyTask) Part(_, lo, hi int) { copy(c.to[lo:hi], c.from[lo:hi]) }
