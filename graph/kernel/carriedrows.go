package kernel

// CarriedRows holds, for generation, the last Back tokens that a layer has seen of each row of a
// batch: position p of a row is in slot p mod Back. A row has two sets of slots: a run reads the
// set given by the row's Turn and writes the other, so that a failed run may be repeated.
type CarriedRows[T Float] struct {
	Rows        []T // [batch, 2, Back, Width]
	Back, Width int
}

// NewCarriedRows returns empty CarriedRows.
func NewCarriedRows[T Float](batch, back, width int) *CarriedRows[T] {
	return &CarriedRows[T]{Rows: make([]T, batch*2*back*width), Back: back, Width: width}
}

// at returns what is stored for an earlier position of a row.
func (c *CarriedRows[T]) at(r CachedRow, position int) []T {
	return rowOf(c.Rows, (int(2*r.Row+r.Turn))*c.Back+position%c.Back, c.Width)
}

// put stores the last tokens of each row for the next run, from x [batch*seq, Width] and from what
// came before.
func (c *CarriedRows[T]) put(x []T, rows []CachedRow, seq int) {
	for i, r := range rows {
		if r.Tokens == 0 {
			continue
		}
		next, past, end := r, int(r.Past), int(r.Past+r.Tokens)
		next.Turn = 1 - r.Turn
		for p := max(0, end-c.Back); p < end; p++ {
			from := c.at(r, p)
			if p >= past {
				from = rowOf(x, i*seq+p-past, c.Width)
			}
			copy(c.at(next, p), from)
		}
	}
}
