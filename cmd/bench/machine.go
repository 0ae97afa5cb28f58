package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// machine is what this computer can do, measured beside everything else: the best of all
// looks in a run. A GPU's peak is not measured: it is the one of its data sheet.
type machine struct {
	Threads    int             `json:"threads"`
	PeakGFLOPS float64         `json:"peak_gflops"`         // our matrix product of peakSide^3; 0: unknown
	CopyGBs    float64         `json:"copy_gb_s,omitempty"` // bytes read plus bytes written
	GPU        string          `json:"gpu,omitempty"`       // its name, if that is what trains
	Precision  graph.Precision `json:"precision,omitempty"` // of the GPU

	pool *kernel.Pool
}

// Sizes of the two measurements: the copy's are far above any cache.
const (
	peakSide  = 1536
	copyBytes = 128 << 20
	lookTime  = 150 * time.Millisecond
)

// newMachine describes the target; peak is a GPU's in TFLOPS, 0 if it is to be looked up.
func newMachine(t target, peak float64) (*machine, error) {
	if t.Threads == 0 {
		t.Threads = runtime.GOMAXPROCS(0)
	}
	m := &machine{Threads: t.Threads}
	if t.onGPU() {
		name, err := gpuName()
		if err != nil {
			return nil, err
		}
		if peak == 0 {
			peak = peakTFLOPS(name, t.Precision)
		}
		m.GPU, m.Precision, m.PeakGFLOPS = name, t.Precision, 1e3*peak
	}
	m.pool = kernel.NewPool(t.Threads)
	return m, nil
}

// precision names the numbers that are multiplied.
func (m *machine) precision() string {
	if m.GPU != "" {
		return string(m.Precision)
	}
	return "float32"
}

// name is what computes.
func (m *machine) name() string {
	if m.GPU != "" {
		return m.GPU
	}
	return fmt.Sprintf("%d threads", m.Threads)
}

// share is a speed's part of the peak, 0 if that is unknown.
func (m *machine) share(gflops float64) float64 {
	if m.PeakGFLOPS == 0 {
		return 0
	}
	return gflops / m.PeakGFLOPS
}

// look measures the CPU once and keeps the best; memory is freed again.
func (m *machine) look() {
	if m.GPU != "" {
		return
	}
	square := newProduct(gemmShape{M: peakSide, K: peakSide, N: peakSide})
	best := slices.Min(times(lookTime, func() { square.run(m.pool) }))
	m.PeakGFLOPS = max(m.PeakGFLOPS, square.shape.flops()/best/1e9)
	c := &copyTask{from: slices.Repeat([]float32{1}, copyBytes/4), to: make([]float32, copyBytes/4)}
	c.run(m.pool) // the first touch of the pages
	best = slices.Min(times(lookTime, func() { c.run(m.pool) }))
	m.CopyGBs = max(m.CopyGBs, 2*copyBytes/best/1e9)
	debug.FreeOSMemory()
}

func (m *machine) close() { m.pool.Close() }

// copyTask copies memory in parallel.
type copyTask struct{ from, to []float32 }

func (c *copyTask) run(p *kernel.Pool) { p.Do(len(c.from), c) }

// Part copies a stretch.
func (c *copyTask) Part(_, lo, hi int) { copy(c.to[lo:hi], c.from[lo:hi]) }
