package graph

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/kernel"
)

// Cache holds what a generating model needs from the tokens that it has seen, in rows of at
// most capacity tokens: keys and values [batch, KV, capacity, Dh] for each attention, and a
// few earlier rows of activations for each op that reads only the last few tokens. Each row
// has its own length. Since shapes in Gorgonia are static, several programs of one model may
// share a Cache: one that takes one token per row and runs again and again, and others that
// read a prompt many tokens at a time. RunOptions.Rows assign a program's rows to the cache's
// rows. A Cache is not safe for concurrent use.
type Cache struct {
	batch, capacity int
	rows            []cacheRow
	parts           []*CacheLayer
	complete        bool // a program has been compiled: later programs must have the same parts
	programs        int  // number of open programs

	running []kernel.CachedRow // the cache's row for each row of the current run
	next    []CacheRow         // the position of each row after the current run, if it succeeds
	device  cacheDevice
}

// cacheRow is the state of one row of a Cache.
type cacheRow struct {
	length, turn int32
	CacheRow
}

// CacheRow holds what is needed from a row's earlier tokens to find where documents start.
type CacheRow struct {
	Start    int32 // position where the row's current document began
	Previous int32 // the row's last token; -1 before the first
}

// RunRow says which row of the cache a row of a program reads and extends in a run.
type RunRow struct {
	Row    int // row of the cache
	Tokens int // how many of the program's tokens are new; the rest is padding with any content
}

// NewCache returns an empty cache of batch rows with room for capacity tokens each. A Cache serves
// the programs of one model: their ops take its parts in the order in which they are built.
func NewCache(batch, capacity int) (*Cache, error) {
	if batch < 1 || capacity < 1 {
		return nil, errors.Errorf("graph: cache: want at least one row and one token, got batch %d, capacity %d", batch, capacity)
	}
	c := &Cache{batch: batch, capacity: capacity, rows: make([]cacheRow, batch), running: make([]kernel.CachedRow, 0, batch), next: make([]CacheRow, batch)}
	c.Reset()
	return c, nil
}

// Rows returns the number of rows.
func (c *Cache) Rows() int { return c.batch }

// Len returns the number of tokens in a row.
func (c *Cache) Len(row int) int { return int(c.rows[row].length) }

// Capacity returns how many tokens a row can hold.
func (c *Cache) Capacity() int { return c.capacity }

// Reset removes the tokens of the named rows; of all rows if none is named.
func (c *Cache) Reset(rows ...int) {
	for _, row := range rows {
		c.rows[row] = cacheRow{CacheRow: CacheRow{Previous: -1}}
	}
	if len(rows) == 0 {
		for row := range c.rows {
			c.Reset(row)
		}
	}
}

// CheckRows checks that the cache has enough rows for a graph with batch rows of tokens.
func (c *Cache) CheckRows(batch int) error {
	if c != nil && batch > c.batch {
		return errors.Errorf("tokens: want at most the %d rows that the cache has, got %d", c.batch, batch)
	}
	return nil
}

// begin prepares a run of a program with batch rows of the given number of tokens. rows assigns
// them to the cache's rows; nil: the first rows, with all their tokens.
func (c *Cache) begin(rows []RunRow, batch, tokens int) error {
	if len(rows) > batch {
		return errors.Errorf("graph: cache: want at most the program's %d rows, got %d", batch, len(rows))
	}
	c.running, c.device.uploaded = c.running[:0], false
	for i := range batch {
		r := RunRow{}
		switch {
		case i < len(rows):
			r = rows[i]
		case rows == nil:
			r = RunRow{i, tokens}
		}
		if err := c.checkRow(r, tokens); err != nil {
			return err
		}
		at := c.rows[r.Row]
		c.running = append(c.running, kernel.CachedRow{Row: int32(r.Row), Past: at.length, Tokens: int32(r.Tokens), Turn: at.turn})
		c.next[i] = at.CacheRow
	}
	return nil
}

// checkRow checks that a row exists, that it occurs once in the run, and that it has room for the
// tokens.
func (c *Cache) checkRow(r RunRow, most int) error {
	switch {
	case r.Row < 0 || r.Row >= c.batch:
		return errors.Errorf("graph: cache: want a row of 0 to %d, got %d", c.batch-1, r.Row)
	case r.Tokens < 0 || r.Tokens > most:
		return errors.Errorf("graph: cache: row %d: want at most the program's %d tokens, got %d", r.Row, most, r.Tokens)
	}
	if length := c.Len(r.Row); length+r.Tokens > c.capacity {
		return errors.Errorf("graph: cache: want room for %d more tokens after %d, got a capacity of %d: make a larger cache or Reset it",
			r.Tokens, length, c.capacity)
	}
	for _, other := range c.running {
		if r.Tokens > 0 && other.Tokens > 0 && int(other.Row) == r.Row {
			return errors.Errorf("graph: cache: row %d: want it once in a run, got it twice", r.Row)
		}
	}
	return nil
}

// advance moves each row past the tokens of a run that has succeeded.
func (c *Cache) advance() {
	for i, r := range c.running {
		if r.Tokens > 0 {
			c.rows[r.Row] = cacheRow{length: r.Past + r.Tokens, turn: 1 - r.Turn, CacheRow: c.next[i]}
		}
	}
}

// Running returns the cached row that row i of the current run extends.
func (c *Cache) Running(i int) kernel.CachedRow { return c.running[i] }

// Row returns the state, before the current run, of the cached row that row i of the run extends.
func (c *Cache) Row(i int) CacheRow { return c.rows[c.running[i].Row].CacheRow }

// SetNext sets the state of that cached row after the run, if the run succeeds.
func (c *Cache) SetNext(i int, r CacheRow) { c.next[i] = r }
