package kernel

import "github.com/pkg/errors"

// CarriedRows holds the last tokens that a layer has seen of each row of a batch, for generation
// token by token: position p of a row is in slot p mod Slots. A run that fails may be repeated: with
// as many slots as it has new tokens and as it looks back, it overwrites nothing that it reads.
type CarriedRows[T Float] struct {
	Rows         []T // [batch, Slots, Width]
	Slots, Width int
	Length       int // positions seen
}

// NewCarriedRows returns an empty memory. Every size must be at least 1.
func NewCarriedRows[T Float](batch, slots, width int) (*CarriedRows[T], error) {
	if min(batch, slots, width) < 1 {
		return nil, errors.Errorf("carried rows: want batch, slots and width >= 1, got %d, %d and %d", batch, slots, width)
	}
	return &CarriedRows[T]{Rows: make([]T, batch*slots*width), Slots: slots, Width: width}, nil
}

// SetLength says how many positions have been seen.
func (c *CarriedRows[T]) SetLength(n int) { c.Length = n }

// put stores seq new tokens of each row, x [batch*seq, Width].
func (c *CarriedRows[T]) put(x []T, seq int) {
	for i := range len(x) / c.Width {
		slot := i/seq*c.Slots + (c.Length+i%seq)%c.Slots
		copy(rowOf(c.Rows, slot, c.Width), rowOf(x, i, c.Width))
	}
}
