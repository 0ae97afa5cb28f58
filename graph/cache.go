package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// Cache holds the keys and values of the tokens that a generating program has seen, for
// each attention of the model [batch, H, capacity, Dh]. Shapes are static in Gorgonia:
// a program of one token a row runs again and again, its position is the cache's length.
type Cache struct {
	batch, capacity int
	length          int
	layers          []*attentionMemory
	starts          []int32 // where each row's current document began
	previous        []int32 // each row's previous token, -1 before the first
}

// attentionMemory is one attention's part of a Cache.
type attentionMemory struct{ kv any }

// NewCache returns an empty cache for rows of up to capacity tokens. One Cache serves
// one model: its attentions take their parts in the order they are built.
func NewCache(batch, capacity int) (*Cache, error) {
	if batch < 1 || capacity < 1 {
		return nil, errors.Errorf("graph: cache: want at least one row and one token, got batch %d, capacity %d", batch, capacity)
	}
	c := &Cache{batch: batch, capacity: capacity, starts: make([]int32, batch), previous: make([]int32, batch)}
	c.Reset()
	return c, nil
}

// Len returns how many tokens a row has behind it.
func (c *Cache) Len() int { return c.length }

// Capacity returns how many tokens a row can hold.
func (c *Cache) Capacity() int { return c.capacity }

// Reset forgets all tokens.
func (c *Cache) Reset() {
	c.setLength(0)
	for i := range c.previous {
		c.starts[i], c.previous[i] = 0, -1
	}
}

// advance moves past the tokens of a program's run.
func (c *Cache) advance(tokens int) { c.setLength(c.length + tokens) }

func (c *Cache) setLength(n int) {
	c.length = n
	for _, l := range c.layers {
		switch kv := l.kv.(type) {
		case *kernel.KVCache[float32]:
			kv.Length = n
		case *kernel.KVCache[float64]:
			kv.Length = n
		}
	}
}

// layer adds an attention's part.
func (c *Cache) layer(dt tensor.Dtype, heads, headDim int) (*attentionMemory, error) {
	m := &attentionMemory{}
	var err error
	if dt == tensor.Float64 {
		m.kv, err = kernel.NewKVCache[float64](c.batch, heads, c.capacity, headDim)
	} else {
		m.kv, err = kernel.NewKVCache[float32](c.batch, heads, c.capacity, headDim)
	}
	c.layers = append(c.layers, m)
	return m, err
}

func memory[T kernel.Float](m *attentionMemory) *kernel.KVCache[T] {
	kv, _ := m.kv.(*kernel.KVCache[T])
	return kv
}
