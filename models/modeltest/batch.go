package modeltest

import (
	"math/rand/v2"
	"slices"

	"github.com/residua-go/residua/models"
)

// rows is the batch size of the suite's programs.
const rows = 2

// Batch is a model's input: Rows rows of Seq tokens and what follows each token.
type Batch struct {
	Inputs, Targets []int32
	Rows, Seq       int
}

// RandomBatch draws rows of seq tokens. No token is the config's BOS, and the rows' first
// tokens differ, so that the batch can be learned by heart.
func RandomBatch(spec models.Spec, rows, seq int, seed uint64) Batch {
	draw := rand.New(rand.NewPCG(seed, 1))
	b := Batch{Rows: rows, Seq: seq}
	firsts := draw.Perm(spec.Vocab - 1)
	for r := range rows {
		row := []int32{otherThanBOS(spec, firsts[r%len(firsts)])}
		for len(row) <= seq {
			row = append(row, otherThanBOS(spec, draw.IntN(spec.Vocab-1)))
		}
		b.Inputs, b.Targets = append(b.Inputs, row[:seq]...), append(b.Targets, row[1:]...)
	}
	return b
}

// documentBatch is a RandomBatch of the config's length in which a document begins inside
// the first row.
func documentBatch(spec models.Spec, rows int, seed uint64) Batch {
	b := RandomBatch(spec, rows, spec.Seq, seed)
	b.Inputs[spec.Seq/2] = int32(spec.BOS)
	return b
}

// otherThanBOS numbers the ids that are not BOS.
func otherThanBOS(spec models.Spec, i int) int32 {
	if i >= spec.BOS {
		i++
	}
	return int32(i)
}

// clone returns a copy that can be changed.
func (b Batch) clone() Batch {
	b.Inputs, b.Targets = slices.Clone(b.Inputs), slices.Clone(b.Targets)
	return b
}

// replace puts another token that is not BOS at place i of the first row.
func (b Batch) replace(spec models.Spec, i int) {
	for id := range int32(spec.Vocab) {
		if id != int32(spec.BOS) && id != b.Inputs[i] {
			b.Inputs[i] = id
			return
		}
	}
}
