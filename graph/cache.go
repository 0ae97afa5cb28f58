package graph

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/kernel"
)

// Cache holds what a generating model needs of the tokens that it has seen, in rows of up to capacity
// tokens: for each attention their keys and values [batch, KV, capacity, Dh], for each op that looks at
// the last few tokens alone what it carries of those. Each row has a length of its own. Shapes are
// static in Gorgonia, so that several programs of one model may share a Cache: one of a token a row,
// which runs again and again, and others that read a prompt many tokens at a time. RunOptions.Rows say
// which rows of the cache those of a program stand for. A Cache is not safe for concurrent use.
type Cache struct {
	batch, capacity int
	rows            []cacheRow
	parts           []*CacheLayer
	complete        bool // a program has been compiled: later ones have the same parts
	programs        int  // that are open

	running []kernel.CachedRow // what the rows of the run under way stand for
	next    []CacheRow         // where they will stand once it has succeeded
	device  cacheDevice
}

// cacheRow is where a row of a Cache stands.
type cacheRow struct {
	length, turn int32
	CacheRow
}

// CacheRow is what is needed of a row's earlier tokens to find where documents start.
type CacheRow struct {
	Start    int32 // where its current document began
	Previous int32 // its last token, -1 before the first
}

// RunRow says what a row of a program stands for in a run.
type RunRow struct {
	Row    int // of the cache
	Tokens int // how many of the program's tokens are new; those after them may be any and count for nothing
}

// NewCache returns an empty cache of batch rows of up to capacity tokens. One Cache serves the programs
// of one model: its ops take their parts in the order they are built.
func NewCache(batch, capacity int) (*Cache, error) {
	if batch < 1 || capacity < 1 {
		return nil, errors.Errorf("graph: cache: want at least one row and one token, got batch %d, capacity %d", batch, capacity)
	}
	c := &Cache{batch: batch, capacity: capacity, rows: make([]cacheRow, batch), running: make([]kernel.CachedRow, 0, batch), next: make([]CacheRow, batch)}
	c.Reset()
	return c, nil
}

// Rows is the number of rows.
func (c *Cache) Rows() int { return c.batch }

// Len returns how many tokens of a row it has.
func (c *Cache) Len(row int) int { return int(c.rows[row].length) }

// Capacity returns how many tokens a row can hold.
func (c *Cache) Capacity() int { return c.capacity }

// Reset forgets the tokens of some rows, of all if none is named.
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

// CheckRows checks the number of rows of a graph's tokens.
func (c *Cache) CheckRows(batch int) error {
	if c != nil && batch > c.batch {
		return errors.Errorf("tokens: want at most the %d rows that the cache has, got %d", c.batch, batch)
	}
	return nil
}

// begin readies a run of a program of so many rows and tokens a row. rows are what they stand for;
// nil: the first ones, with all their tokens.
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

// checkRow checks that a row of a run is there, has no other row's tokens in the run, and has room.
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

// advance moves past the tokens of the run that has succeeded.
func (c *Cache) advance() {
	for i, r := range c.running {
		if r.Tokens > 0 {
			c.rows[r.Row] = cacheRow{length: r.Past + r.Tokens, turn: 1 - r.Turn, CacheRow: c.next[i]}
		}
	}
}

// Running tells what row i of the run under way stands for.
func (c *Cache) Running(i int) kernel.CachedRow { return c.running[i] }

// Row returns the position of row i of the run under way before it.
func (c *Cache) Row(i int) CacheRow { return c.rows[c.running[i].Row].CacheRow }

// SetNext sets the position that row i of the run under way has once it has succeeded.
func (c *Cache) SetNext(i int, r CacheRow) { c.next[i] = r }
