package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// Cache holds what a generating program needs of the tokens that it has seen: for each attention
// of the model their keys and values [batch, KV, capacity, Dh], for each op that looks at the last
// few tokens alone what it carries of those. Shapes are static in Gorgonia: a program of one token a
// row runs again and again, its position is the cache's length.
type Cache struct {
	batch, capacity int
	length          int
	layers          []*CacheLayer
	// now is where the rows stand, next where they will stand once the run under way has
	// succeeded.
	now, next []CacheRow
}

// CacheRow is what is needed of a row's earlier tokens to find where documents start.
type CacheRow struct {
	Start    int32 // where its current document began
	Previous int32 // its last token, -1 before the first
}

// CacheLayer is one op's part of a Cache.
type CacheLayer struct {
	memory interface{ SetLength(n int) } // a kernel.KVCache or a kernel.CarriedRows
	// Device is the same on a device: keys and values [2, batch, KV, capacity, padded Dh], or rows
	// [batch, slots, width].
	Device DeviceMemory
}

// NewCache returns an empty cache for rows of up to capacity tokens. One Cache serves
// one model: its ops take their parts in the order they are built.
func NewCache(batch, capacity int) (*Cache, error) {
	if batch < 1 || capacity < 1 {
		return nil, errors.Errorf("graph: cache: want at least one row and one token, got batch %d, capacity %d", batch, capacity)
	}
	c := &Cache{batch: batch, capacity: capacity, now: make([]CacheRow, batch), next: make([]CacheRow, batch)}
	c.Reset()
	return c, nil
}

// Len returns how many tokens of a row it has.
func (c *Cache) Len() int { return c.length }

// Capacity returns how many tokens a row can hold.
func (c *Cache) Capacity() int { return c.capacity }

// Reset forgets all tokens.
func (c *Cache) Reset() {
	c.setLength(0)
	for i := range c.now {
		c.now[i] = CacheRow{Previous: -1}
	}
	copy(c.next, c.now)
}

// checkUnused checks that no program uses the cache yet: a second one's ops would get
// memories of their own and see nothing of the first one's tokens.
func (c *Cache) checkUnused() error {
	if len(c.layers) > 0 {
		return errors.New("graph: cache: want one that no other program uses, got one in use: make a cache for each program")
	}
	return nil
}

// Rows checks the number of rows of a graph's tokens.
func (c *Cache) Rows(batch int) error {
	if c != nil && batch != c.batch {
		return errors.Errorf("tokens: want %d rows as the cache has, got %d", c.batch, batch)
	}
	return nil
}

// checkRoom checks that so many more tokens fit.
func (c *Cache) checkRoom(tokens int) error {
	if c.length+tokens > c.capacity {
		return errors.Errorf("graph: cache: want room for %d more tokens after %d, got a capacity of %d: make a larger cache or Reset it",
			tokens, c.length, c.capacity)
	}
	return nil
}

// Row returns the position of a row.
func (c *Cache) Row(i int) CacheRow { return c.now[i] }

// SetNext sets the position that a row has once the current run has succeeded.
func (c *Cache) SetNext(i int, r CacheRow) { c.next[i] = r }

// advance moves past the tokens of a program's run.
func (c *Cache) advance(tokens int) {
	c.setLength(c.length + tokens)
	copy(c.now, c.next)
}

func (c *Cache) setLength(n int) {
	c.length = n
	for _, l := range c.layers {
		l.memory.SetLength(n)
	}
}

// Layer adds the part of one more attention, of so many heads of keys and values.
func (c *Cache) Layer(dt tensor.Dtype, heads, headDim int) (*CacheLayer, error) {
	if _, err := sizeOf([]int{2, c.batch, heads, c.capacity, headDim}); err != nil {
		return nil, errors.Wrap(err, "cache")
	}
	if dt == tensor.Float64 {
		return addLayer(c, func() (*kernel.KVCache[float64], error) {
			return kernel.NewKVCache[float64](c.batch, heads, c.capacity, headDim)
		})
	}
	return addLayer(c, func() (*kernel.KVCache[float32], error) {
		return kernel.NewKVCache[float32](c.batch, heads, c.capacity, headDim)
	})
}

// Carry adds the part of one more op that looks at the last tokens of a row, of width entries each:
// slots of them, as many as a run has new tokens and as it looks back.
func (c *Cache) Carry(dt tensor.Dtype, slots, width int) (*CacheLayer, error) {
	if _, err := sizeOf([]int{c.batch, slots, width}); err != nil {
		return nil, errors.Wrap(err, "cache")
	}
	if dt == tensor.Float64 {
		return addLayer(c, func() (*kernel.CarriedRows[float64], error) {
			return kernel.NewCarriedRows[float64](c.batch, slots, width)
		})
	}
	return addLayer(c, func() (*kernel.CarriedRows[float32], error) {
		return kernel.NewCarriedRows[float32](c.batch, slots, width)
	})
}

// addLayer adds the part that a function makes.
func addLayer[M interface{ SetLength(n int) }](c *Cache, make func() (M, error)) (*CacheLayer, error) {
	memory, err := make()
	if err != nil {
		return nil, err
	}
	m := &CacheLayer{memory: memory}
	c.layers = append(c.layers, m)
	return m, nil
}

// KV returns the keys and values that an attention has cached.
func KV[T kernel.Float](m *CacheLayer) *kernel.KVCache[T] {
	kv, _ := m.memory.(*kernel.KVCache[T])
	return kv
}

// Carried returns the rows that an op carries.
func Carried[T kernel.Float](m *CacheLayer) *kernel.CarriedRows[T] {
	rows, _ := m.memory.(*kernel.CarriedRows[T])
	return rows
}
