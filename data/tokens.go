package data

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// Tokens is a sequence of token ids: two bytes each if all ids of the vocabulary fit, otherwise
// four. The zero value is empty. Tokens never change, so that slices share memory.
type Tokens struct {
	narrow []uint16
	wide   []uint32    // instead of narrow
	task   *taskTokens // nil: text, all of whose tokens are targets
	text   textBytes
}

// NewTokens returns ids of a vocabulary as Tokens.
func NewTokens(vocab int, ids []int32) Tokens {
	if isNarrow(vocab) {
		return Tokens{narrow: converted[uint16](ids)}
	}
	return Tokens{wide: converted[uint32](ids)}
}

// isNarrow tells whether the ids of a vocabulary fit in two bytes.
func isNarrow(vocab int) bool { return vocab <= math.MaxUint16+1 }

func converted[T uint16 | uint32](ids []int32) []T {
	all := make([]T, len(ids))
	for i, id := range ids {
		all[i] = T(id)
	}
	return all
}

// Len returns the number of tokens.
func (t Tokens) Len() int { return len(t.narrow) + len(t.wide) }

// At returns the id of token i.
func (t Tokens) At(i int) int32 {
	var id [1]int32
	t.From(i).CopyTo(id[:])
	return id[0]
}

// Slice returns the tokens from index from up to, but excluding, to.
func (t Tokens) Slice(from, to int) Tokens {
	t.text = t.text.slice(from, to)
	if t.wide != nil {
		t.wide = slices.Clip(t.wide[from:to])
	} else {
		t.narrow = slices.Clip(t.narrow[from:to])
	}
	return t
}

// From returns the tokens from an index on.
func (t Tokens) From(index int) Tokens { return t.Slice(index, t.Len()) }

// Scored returns the tokens up to the n-th scored one; all tokens but the first are scored.
// If n is 0, it returns all.
func (t Tokens) Scored(n int) Tokens {
	if n > 0 && n < t.Len()-1 {
		return t.Slice(0, n+1)
	}
	return t
}

// MoreBytes returns how many more bytes of text token i stands for than its id's own: some if the
// tokenizer normalizes text, 0 otherwise.
func (t Tokens) MoreBytes(i int) int { return int(t.text.slice(i, i+1).total()) }

// IDs returns the ids, four bytes each.
func (t Tokens) IDs() []int32 {
	ids := make([]int32, t.Len())
	t.CopyTo(ids)
	return ids
}

// Examples returns the description of a Task's examples; for text it is zero.
func (t Tokens) Examples() Examples {
	if t.task == nil {
		return Examples{}
	}
	return t.task.Examples
}

// packed tells whether the tokens are rows of Corpus.Pack.
func (t Tokens) packed() bool { return t.task != nil && t.task.packed }

// Targets counts the tokens that are targets: all of text, and the answers of a Task.
func (t Tokens) Targets() int {
	ids := make([]int32, t.Len())
	t.copyTargets(ids)
	return len(slices.DeleteFunc(ids, func(id int32) bool { return id == ignoredTarget }))
}

// CopyTo fills ids with the first tokens, as inputs.
func (t Tokens) CopyTo(ids []int32) {
	t.copyTo(ids)
	if t.task != nil {
		for i, id := range ids {
			ids[i] = t.task.input(id)
		}
	}
}

// copyTargets fills ids with the first tokens, as targets.
func (t Tokens) copyTargets(ids []int32) {
	t.copyTo(ids)
	if t.task != nil {
		for i, id := range ids {
			ids[i] = t.task.target(id)
		}
	}
}

// copyTo fills ids with the first tokens as they are stored.
func (t Tokens) copyTo(ids []int32) {
	if t.wide != nil {
		copyIDs(ids, t.wide)
	} else {
		copyIDs(ids, t.narrow)
	}
}

func copyIDs[T uint16 | uint32](ids []int32, tokens []T) {
	for i, token := range tokens[:len(ids)] {
		ids[i] = int32(token)
	}
}

// concat joins tokens of one vocabulary.
func concat(parts ...Tokens) Tokens {
	var narrow [][]uint16
	var wide [][]uint32
	var task *taskTokens
	var text textBytes
	length := 0
	for _, part := range parts {
		for _, m := range part.text.all {
			text.add(length+m.token-part.text.base, m.bytes)
		}
		length += part.Len()
		narrow, wide, task = append(narrow, part.narrow), append(wide, part.wide), cmp.Or(part.task, task)
	}
	return Tokens{slices.Concat(narrow...), slices.Concat(wide...), task, text}
}

// count returns how many tokens have an id.
func (t Tokens) count(id int32) int {
	n := 0
	for _, token := range t.narrow {
		if int32(token) == id {
			n++
		}
	}
	for _, token := range t.wide {
		if int32(token) == id {
			n++
		}
	}
	return n
}

// write writes the tokens as little-endian integers of two or four bytes.
func (t Tokens) write(w io.Writer) error {
	const block = 1 << 14
	var bytes []byte
	for ; t.Len() > 0; t = t.From(min(block, t.Len())) {
		part := t.Slice(0, min(block, t.Len()))
		bytes = bytes[:0]
		for _, token := range part.narrow {
			bytes = binary.LittleEndian.AppendUint16(bytes, token)
		}
		for _, token := range part.wide {
			bytes = binary.LittleEndian.AppendUint32(bytes, token)
		}
		if _, err := w.Write(bytes); err != nil {
			return err
		}
	}
	return nil
}
