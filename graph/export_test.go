package graph

import (
	"time"

	"gorgonia.org/gorgonia"
)

// What the tests of package graph_test, which import the ops, see of the inside.

const ArenaAlignment = arenaAlignment

// OpOf is opOf.
func OpOf(n *gorgonia.Node) *Op { return opOf(n) }

// Differentiate is differentiate.
func Differentiate(b *Builder, loss *gorgonia.Node) (gorgonia.Nodes, error) {
	return differentiate(b, loss, RecomputeNone)
}

// Plan is the buffer plan.
func (p *Program) Plan() *plan { return p.plan }

// Missing is missing.
func (p *Program) Missing() MemoryNeed { return p.additionalMemory() }

// Stopwatch has timed the profiled runs.
func (p *Program) Stopwatch() stopwatch { return p.runs }

// Stopwatch has timed the op's profiled runs.
func (op *Op) Stopwatch() stopwatch { return op.runs }

// Calls are the timed ones.
func (s stopwatch) Calls() int { return s.calls }

// Total is their time.
func (s stopwatch) Total() time.Duration { return s.total }

// SetProfile makes ops time themselves.
func (b *Builder) SetProfile(on bool) { b.runtime.profile = on }

// HookedNodes are the hooks.
func (b *Builder) HookedNodes() gorgonia.Nodes { return b.hooked }

// AllRows are where the cache's rows stand.
func (c *Cache) AllRows() (rows []CacheRow) {
	for _, r := range c.rows {
		rows = append(rows, r.CacheRow)
	}
	return rows
}

// Bytes are the arena's.
func (p *plan) Bytes() int { return p.bytes }

// Unshared is what the buffers would take without sharing.
func (p *plan) Unshared() int { return p.unshared }

// Order is the run order.
func (p *plan) Order() gorgonia.Nodes { return p.order }

// Intervals are the buffers.
func (p *plan) Intervals() []*interval { return p.intervals }

// Where is the interval's place in time and memory.
func (v *interval) Where() (start, end, offset, bytes int) { return v.start, v.end, v.offset, v.bytes }

// CacheEntries is the number of keys' and values' entries of a cache in 32 bits.
func CacheEntries(c *Cache) (n int) {
	for _, l := range c.parts {
		n += len(KV[float32](l).K) + len(KV[float32](l).V)
	}
	return n
}
