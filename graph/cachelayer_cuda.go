package graph

import (
	"unsafe"

	"github.com/residua-go/residua/graph/cuda"
)

// Cached returns the device memory of a cache's part, n elements, which the first run allocates.
func (c *DeviceCall) Cached(l *CacheLayer, t cuda.Type, n int) cuda.Array {
	l.cache.device.memory.device = c.dev
	return c.memory(t, n, func() (cuda.Array, error) { return l.Device.ensure(&l.cache.device.memory, t, n) })
}

// CachedRows returns the cached row of each row of the current run, [batch] of kernel.CachedRow as
// four I32 each; the first op of a run uploads them.
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
