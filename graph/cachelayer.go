package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// CacheLayer is the part of a Cache that belongs to one op. Programs that share the Cache share the
// part: the op at the same place in each of them uses it.
type CacheLayer struct {
	cache  *Cache
	form   string // describes the content, for error messages
	memory any    // a *kernel.KVCache or a *kernel.CarriedRows
	// Device is the part's memory on a device: keys and values [2, batch, KV, capacity, padded Dh],
	// or rows [batch, 2, back, width].
	Device DeviceMemory
}

// cacheDevice is the device memory of a Cache.
type cacheDevice struct {
	memory   runState     // owns the parts' memory, which outlives the programs that allocated it
	rows     DeviceMemory // the rows of the current run, [batch] of kernel.CachedRow
	uploaded bool
}

// CachedAttention returns the next attention's part of the cache, for the given number of heads of
// keys and values.
func (b *Builder) CachedAttention(dt tensor.Dtype, heads, headDim int) (*CacheLayer, error) {
	c := b.Cache()
	if _, err := sizeOf([]int{2, c.batch, heads, c.capacity, headDim}); err != nil {
		return nil, errors.Wrap(err, "cache")
	}
	form := fmt.Sprintf("%v keys and values of %d heads of %d on the %s", dt, heads, headDim, b.options.Device)
	return b.cachePart(form, func() any {
		if dt == tensor.Float64 {
			return kernel.NewKVCache[float64](c.batch, heads, c.capacity, headDim)
		}
		return kernel.NewKVCache[float32](c.batch, heads, c.capacity, headDim)
	})
}

// CarriedRows returns the cache's part for the next op that reads the last back tokens of a row,
// each of width entries.
func (b *Builder) CarriedRows(dt tensor.Dtype, back, width int) (*CacheLayer, error) {
	c := b.Cache()
	if _, err := sizeOf([]int{2, c.batch, back, width}); err != nil {
		return nil, errors.Wrap(err, "cache")
	}
	form := fmt.Sprintf("%v rows of %d for %d tokens on the %s", dt, width, back, b.options.Device)
	return b.cachePart(form, func() any {
		if dt == tensor.Float64 {
			return kernel.NewCarriedRows[float64](c.batch, back, width)
		}
		return kernel.NewCarriedRows[float32](c.batch, back, width)
	})
}

// cachePart returns the next part: the part that earlier programs made at this place, or a new one.
func (b *Builder) cachePart(form string, make func() any) (*CacheLayer, error) {
	c, place := b.Cache(), b.cacheParts
	b.cacheParts++
	switch {
	case place < len(c.parts) && c.parts[place].form == form:
		return c.parts[place], nil
	case place < len(c.parts):
		return nil, errors.Errorf("cache: part %d: want %s, as in the programs before, got %s: make a cache for each model and device", place+1, c.parts[place].form,
			form)
	case c.complete:
		return nil, errors.Errorf("cache: want the %d parts of the programs before, got more: make a cache for each model", len(c.parts))
	}
	l := &CacheLayer{cache: c, form: form, memory: make()}
	c.parts = append(c.parts, l)
	return l, nil
}

// join counts b's program, now compiled, as one that uses the cache.
func (c *Cache) join(b *Builder) error {
	if b.cacheParts != len(c.parts) {
		return errors.Errorf("cache: want the %d parts of the programs before, got %d: make a cache for each model", len(c.parts), b.cacheParts)
	}
	c.complete = true
	c.programs++
	return nil
}

// forget drops the parts of a program that failed to compile, unless another program uses them.
func (c *Cache) forget() {
	if !c.complete {
		c.parts = nil
	}
}

// leave counts a program as closed; when the last one closes, the device memory is freed.
func (c *Cache) leave() {
	if c.programs--; c.programs > 0 || c.device.memory.device == nil {
		return
	}
	c.device.memory.release()
	c.device.rows = DeviceMemory{}
	for _, l := range c.parts {
		l.Device = DeviceMemory{}
	}
	c.Reset()
}

// Batch returns the number of rows of the cache.
func (l *CacheLayer) Batch() int { return l.cache.batch }

// Running returns the cached row that each row of the current run extends.
func (l *CacheLayer) Running() []kernel.CachedRow { return l.cache.running }

// KV returns an attention's cached keys and values.
func KV[T kernel.Float](l *CacheLayer) *kernel.KVCache[T] {
	kv, _ := l.memory.(*kernel.KVCache[T])
	return kv
}

// Carried returns the earlier rows that an op has cached.
func Carried[T kernel.Float](l *CacheLayer) *kernel.CarriedRows[T] {
	rows, _ := l.memory.(*kernel.CarriedRows[T])
	return rows
}
