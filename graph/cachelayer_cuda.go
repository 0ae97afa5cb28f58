package graph

import (
	"unsafe"

	"github.com/residua-go/residua/graph/cuda"
)

// Cached returns memory of n elements of a cache's part, made at the first run.
func (c *DeviceCall) Cached(l *CacheLayer, t cuda.Type, n int) cuda.Array {
	l.cache.device.memory.device = c.dev
	return c.memory(t, n, func() (cuda.Array, error) { return l.Device.ensure(&l.cache.device.memory, t, n) })
}

// CachedRows returns what the rows of the run under way stand for, [batch] of kernel.CachedRow as
// four I32 each; the run's first op uploads them.
func (c *DeviceCall) CachedRows(l *CacheLayer) cuda.Array {
	d := &l.cache.device
	d.memory.device = c.dev
	n := 4 * l.cache.batch
	rows := c.memory(cuda.I32, n, func() (cuda.Array, error) { return d.rows.ensure(&d.memory, cuda.I32, n) })
	if !d.uploaded {
		d.uploaded = true
		running := l.cache.running
		c.upload(rows.Slice(0, 4*len(running)), unsafe.Pointer(unsafe.SliceData(running)))
	}
	return rows
}
