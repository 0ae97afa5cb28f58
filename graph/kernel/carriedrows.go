package kernel

// CarriedRows holds the last Back tokens that a layer has seen of each row of a batch, for
// generation: position p of a row is in slot p mod Back. A row has two sets of slots: a run reads that
// of the row's turn and writes the other one, so that a run that fails may be repeated.
type CarriedRows[T Float] struct {
	Rows        []T // [batch, 2, Back, Width]
	Back, Width int
}

// NewCarriedRows returns an empty memory.
func NewCarriedRows[T Float](batch, back, width int) *CarriedRows[T] {
	return &CarriedRows[T]{Rows: make([]T, batch*2*back*width), Back: back, Width: width}
}

// at returns what is at an earlier position of a row.
func (c *CarriedRows[T]) at(r CachedRow, position int) []T {
	return rowOf(c.Rows, (int(2*r.Row+r.Turn))*c.Back+position%c.Back, c.Width)
}

// put stores the last tokens of each row, of x [batch*seq, Width] and of what came before, for the next run.
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
