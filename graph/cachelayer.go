package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// CacheLayer is one op's part of a Cache, shared by the ops that have its place in other programs.
type CacheLayer struct {
	cache  *Cache
	form   string // what it holds, in words
	memory any    // a kernel.KVCache or a kernel.CarriedRows
	// Device is the same on a device: keys and values [2, batch, KV, capacity, padded Dh], or rows
	// [batch, 2, back, width].
	Device DeviceMemory
}

// cacheDevice is what a Cache has on a device.
type cacheDevice struct {
	memory   runState     // owns the parts' memory, which outlives the program that made it
	rows     DeviceMemory // those of the run under way, [batch] of kernel.CachedRow
	uploaded bool
}

// CachedAttention returns the next attention's part of the cache, of so many heads of keys and values.
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

// CarriedRows returns the cache's part of the next op that looks back at the last tokens of a row, of
// width entries each.
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

// cachePart returns the next part: the one that earlier programs have in this place, or a new one.
func (b *Builder) cachePart(form string, make func() any) (*CacheLayer, error) {
	c, place := b.Cache(), b.cacheParts
	b.cacheParts++
	switch {
	case place < len(c.parts) && c.parts[place].form == form:
		return c.parts[place], nil
	case place < len(c.parts):
		return nil, errors.Errorf("cache: part %d: want %s, as in the programs before, got %s: make a cache for each model and device", place+1, c.parts[place].form, form)
	case c.complete:
		return nil, errors.Errorf("cache: want the %d parts of the programs before, got more: make a cache for each model", len(c.parts))
	}
	l := &CacheLayer{cache: c, form: form, memory: make()}
	c.parts = append(c.parts, l)
	return l, nil
}

// join counts a program that has been compiled.
func (c *Cache) join(b *Builder) error {
	if b.cacheParts != len(c.parts) {
		return errors.Errorf("cache: want the %d parts of the programs before, got %d: make a cache for each model", len(c.parts), b.cacheParts)
	}
	c.complete = true
	c.programs++
	return nil
}

// forget drops the parts of a program that could not be compiled, if no other has them.
func (c *Cache) forget() {
	if !c.complete {
		c.parts = nil
	}
}

// leave counts a program that has been closed; the last one takes a device's memory with it.
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

// Batch is the number of the cache's rows.
func (l *CacheLayer) Batch() int { return l.cache.batch }

// Running are what the rows of the run under way stand for.
func (l *CacheLayer) Running() []kernel.CachedRow { return l.cache.running }

// KV returns the keys and values that an attention has cached.
func KV[T kernel.Float](l *CacheLayer) *kernel.KVCache[T] {
	kv, _ := l.memory.(*kernel.KVCache[T])
	return kv
}

// Carried returns the rows that an op carries.
func Carried[T kernel.Float](l *CacheLayer) *kernel.CarriedRows[T] {
	rows, _ := l.memory.(*kernel.CarriedRows[T])
	return rows
}
