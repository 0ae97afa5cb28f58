package graph

import (
	"time"

	"gorgonia.org/gorgonia"
)

// The names below give tests in package graph_test, which import the ops, access to unexported
// parts.

const ArenaAlignment = arenaAlignment

// OpOf calls opOf.
func OpOf(n *gorgonia.Node) *Op { return opOf(n) }

// Differentiate calls differentiate.
func Differentiate(b *Builder, loss *gorgonia.Node) (gorgonia.Nodes, error) {
	return differentiate(b, loss, RecomputeNone)
}

// Plan returns the buffer plan.
func (p *Program) Plan() *plan { return p.plan }

// Missing calls additionalMemory.
func (p *Program) Missing() MemoryNeed { return p.additionalMemory() }

// Stopwatch returns the times of the profiled runs.
func (p *Program) Stopwatch() stopwatch { return p.runs }

// Stopwatch returns the times of the op's profiled runs.
func (op *Op) Stopwatch() stopwatch { return op.runs }

// Calls returns the number of timed calls.
func (s stopwatch) Calls() int { return s.calls }

// Total returns their total time.
func (s stopwatch) Total() time.Duration { return s.total }

// SetProfile makes ops time themselves.
func (b *Builder) SetProfile(on bool) { b.runtime.profile = on }

// HookedNodes returns the hook nodes.
func (b *Builder) HookedNodes() gorgonia.Nodes { return b.hooked }

// AllRows returns the state of every row of the cache.
func (c *Cache) AllRows() (rows []CacheRow) {
	for _, r := range c.rows {
		rows = append(rows, r.CacheRow)
	}
	return rows
}

// Bytes returns the size of the arena.
func (p *plan) Bytes() int { return p.bytes }

// Unshared returns the size that the buffers would take without sharing.
func (p *plan) Unshared() int { return p.unshared }

// Order returns the run order.
func (p *plan) Order() gorgonia.Nodes { return p.order }

// Intervals returns the planned buffers.
func (p *plan) Intervals() []*interval { return p.intervals }

// Where returns the interval's place in time and memory.
func (v *interval) Where() (start, end, offset, bytes int) { return v.start, v.end, v.offset, v.bytes }

// CacheEntries returns how many 32-bit entries the cached keys and values take.
func CacheEntries(c *Cache) (n int) {
	for _, l := range c.parts {
		n += len(KV[float32](l).K) + len(KV[float32](l).V)
	}
	return n
}

// Adapt makes the node of a weight that adapters change, from W and A and B of each.
func (b *Builder) Adapt(adapters []Adapter, nodes ...*gorgonia.Node) *gorgonia.Node {
	return b.Apply(adapt{adapters}, nodes...)
}
