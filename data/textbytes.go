package data

import (
	"cmp"
	"slices"
)

// moreBytes says that a token stands for other bytes of text than its own: normalization has
// changed them, or the token has taken white space next to it.
type moreBytes struct {
	token int
	bytes int // negative if it stands for fewer
}

// textBytes are the differences of a sequence of tokens, in order. The zero value has none.
type textBytes struct {
	all  []moreBytes
	base int // number of the first token of the sequence in all
}

// add adds a difference to a token; tokens come in order.
func (t *textBytes) add(token, bytes int) {
	last := len(t.all) - 1
	switch {
	case bytes == 0:
	case last >= 0 && t.all[last].token == token:
		t.all[last].bytes += bytes
	default:
		t.all = append(t.all, moreBytes{token, bytes})
	}
}

// slice returns the differences of tokens from, from+1, ... to-1.
func (t textBytes) slice(from, to int) textBytes {
	at := func(token int) int {
		i, _ := slices.BinarySearchFunc(t.all, token+t.base, func(m moreBytes, token int) int { return cmp.Compare(m.token, token) })
		return i
	}
	if len(t.all) == 0 {
		return t
	}
	return textBytes{t.all[at(from):at(to)], t.base + from}
}

// total returns the sum of the differences.
func (t textBytes) total() int64 {
	sum := int64(0)
	for _, m := range t.all {
		sum += int64(m.bytes)
	}
	return sum
}

// TextBytes counts the bytes of text that the tokens stand for; special tokens and ids outside the
// vocabulary count as none. If the tokenizer normalizes text, it counts the bytes before
// normalization; for tokens from shards, which do not keep that number, it counts the bytes after.
// For a Task it includes the answers. The bits per byte of a token stream are its summed
// cross-entropy in nats / (ln 2 * TextBytes).
func TextBytes(t Tokenizer, tokens Tokens) int64 {
	lengths := make([]int64, t.Vocab()) // [id] -> bytes
	for i := range lengths {
		lengths[i] = int64(len(t.Decode([]int32{int32(i)})))
	}
	if tokens.task != nil {
		lengths = append(make([]int64, t.Vocab()), lengths...)
	}
	return sumOf(lengths, tokens.narrow) + sumOf(lengths, tokens.wide) + tokens.text.total()
}

func sumOf[T uint16 | uint32](lengths []int64, tokens []T) int64 {
	var total int64
	for _, token := range tokens {
		if int(token) < len(lengths) {
			total += lengths[token]
		}
	}
	return total
}
