package main

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/residua-go/residua/graph/kernel"
)

// machine is what this computer can do, measured beside everything else: the best of all
// looks in a run.
type machine struct {
	Threads    int     `json:"threads"`
	PeakGFLOPS float64 `json:"peak_gflops"` // our matrix product of peakSide^3
	CopyGBs    float64 `json:"copy_gb_s"`   // bytes read plus bytes written

	pool *kernel.Pool
}

// Sizes of the two measurements: the copy's are far above any cache.
const (
	peakSide  = 1536
	copyBytes = 128 << 20
	lookTime  = 150 * time.Millisecond
)

func newMachine(threads int) *machine {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &machine{Threads: threads, pool: kernel.NewPool(threads)}
}

// look measures once and keeps the best; memory is freed again.
func (m *machine) look() {
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
