package data

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"

	"github.com/pkg/errors"
)

// leastMerged is how often a pair must occur to be merged.
const leastMerged = 2

// symbolPair is two adjacent tokens, the id of the left one in the high half.
type symbolPair uint64

func pairOf(left, right int32) symbolPair { return symbolPair(left)<<32 | symbolPair(right) }

// trainBPE learns a byte-level BPE of vocab ids (Sennrich et al. 2016, section 3.2, over
// bytes). While ids are left, it merges the most frequent pair of adjacent tokens, and among
// equally frequent pairs the one with the lowest ids. pieces gives the number of occurrences
// of each piece of the text; tokens are merged only within pieces. The ids are the bytes in
// GPT-2's order, the merged tokens, and endOfText.
//
// It finds the merges that Hugging Face's BpeTrainer finds. The counts of pairs are kept up to
// date, so that a merge takes time in proportion to the pieces that it changes.
//
// The Go library for training, sugarme/tokenizer (v0.3.0, September 2025), chooses among
// equally frequent pairs by the order of a Go map and the time, so that two runs may differ,
// and it prints to standard output.
func trainBPE(pieces map[string]int64, vocab int) (TokenVocabulary, error) {
	t := newBPETrainer(pieces)
	v := TokenVocabulary{Merges: []string{}, Pieces: "gpt-2"}
	ids := map[string]int32{} // by the token as it is written in Tokens
	for i, b := range bytesInOrder() {
		v.Tokens = append(v.Tokens, characters(string([]byte{b})))
		ids[v.Tokens[i]] = int32(i)
	}
	for len(v.Tokens) < vocab-1 {
		pair, ok := t.next()
		if !ok {
			return TokenVocabulary{}, errors.Errorf("want text that has pairs for %d merges, got %d that occur at least twice: add text, or train at most %d ids",
				vocab-1-len(bytesInOrder()), len(v.Merges), len(v.Tokens)+1)
		}
		left, right := v.Tokens[pair>>32], v.Tokens[pair&(1<<32-1)]
		union, known := ids[left+right] // it may be the union of two other tokens, too
		if !known {
			union = int32(len(v.Tokens))
			ids[left+right] = union
			v.Tokens = append(v.Tokens, left+right)
		}
		v.Merges = append(v.Merges, left+" "+right)
		t.merge(pair, union)
	}
	v.Special = make([]bool, len(v.Tokens), vocab)
	v.Tokens, v.Special = append(v.Tokens, endOfText), append(v.Special, true)
	return v, nil
}

// bytesInOrder returns the bytes in the order of the characters that stand for them.
func bytesInOrder() []byte {
	all := slices.Collect(maps.Values(byteOfCharacter()))
	of := characterOfByte()
	slices.SortFunc(all, func(a, b byte) int { return cmp.Compare(of[a], of[b]) })
	return all
}

// bpeTrainer keeps the pieces in their present tokens, with the counts of adjacent pairs.
type bpeTrainer struct {
	pieces [][]int32 // ids of the tokens of each piece
	times  []int64   // how often each piece occurs
	counts map[symbolPair]int64
	in     map[symbolPair][]int32 // indices of pieces that have, or had, a pair
	queue  pairQueue
}

func newBPETrainer(pieces map[string]int64) *bpeTrainer {
	t := &bpeTrainer{counts: map[symbolPair]int64{}, in: map[symbolPair][]int32{}}
	var id [256]int32
	for i, b := range bytesInOrder() {
		id[b] = int32(i)
	}
	for _, piece := range slices.Sorted(maps.Keys(pieces)) {
		if len(piece) < 2 {
			continue
		}
		tokens := make([]int32, len(piece))
		for i := range tokens {
			tokens[i] = id[piece[i]]
		}
		t.pieces, t.times = append(t.pieces, tokens), append(t.times, pieces[piece])
		for i := range tokens[1:] {
			t.count(pairOf(tokens[i], tokens[i+1]), len(t.pieces)-1, 1)
		}
	}
	for pair, count := range t.counts {
		t.queue = append(t.queue, pairCount{pair, count})
	}
	heap.Init(&t.queue)
	return t
}

// count adds sign times the number of occurrences of a piece to the count of a pair.
func (t *bpeTrainer) count(pair symbolPair, piece int, sign int64) {
	t.counts[pair] += sign * t.times[piece]
	if in := t.in[pair]; sign > 0 && (len(in) == 0 || in[len(in)-1] != int32(piece)) {
		t.in[pair] = append(in, int32(piece))
	}
}

// next returns the pair to merge; ok is false if no pair occurs often enough. An entry of the
// queue whose count is out of date goes back into the queue with its present count.
func (t *bpeTrainer) next() (pair symbolPair, ok bool) {
	for len(t.queue) > 0 {
		top := heap.Pop(&t.queue).(pairCount)
		switch now := t.counts[top.pair]; {
		case now < leastMerged:
		case now != top.count:
			heap.Push(&t.queue, pairCount{top.pair, now})
		default:
			return top.pair, true
		}
	}
	return 0, false
}

// merge replaces a pair by its union in all pieces.
func (t *bpeTrainer) merge(pair symbolPair, union int32) {
	pieces := t.in[pair]
	delete(t.in, pair)
	delete(t.counts, pair)
	made := map[symbolPair]bool{}
	for _, p := range pieces {
		t.mergeIn(int(p), pair, union, made)
	}
	for pair := range made {
		heap.Push(&t.queue, pairCount{pair, t.counts[pair]})
	}
}

// mergeIn replaces a pair in one piece, from left to right, and notes the new pairs.
func (t *bpeTrainer) mergeIn(piece int, pair symbolPair, union int32, made map[symbolPair]bool) {
	tokens := t.pieces[piece]
	left, right := int32(pair>>32), int32(pair&(1<<32-1))
	replace := func(old, with symbolPair) {
		if old != pair {
			t.count(old, piece, -1)
		}
		t.count(with, piece, 1)
		made[with] = true
	}
	end := 0
	for i := 0; i < len(tokens); i++ {
		if i+1 == len(tokens) || tokens[i] != left || tokens[i+1] != right {
			tokens[end] = tokens[i]
			end++
			continue
		}
		if end > 0 {
			replace(pairOf(tokens[end-1], left), pairOf(tokens[end-1], union))
		}
		if i+2 < len(tokens) {
			replace(pairOf(right, tokens[i+2]), pairOf(union, tokens[i+2]))
		}
		tokens[end] = union
		end++
		i++
	}
	t.pieces[piece] = tokens[:end]
}

// pairCount is a pair with the count that it had when it was queued.
type pairCount struct {
	pair  symbolPair
	count int64
}

// pairQueue is a heap.Interface: the largest count first, of equal counts the lowest ids.
type pairQueue []pairCount

func (q pairQueue) Len() int { return len(q) }
func (q pairQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].count, q[i].count), cmp.Compare(q[i].pair, q[j].pair)) < 0
}
func (q pairQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *pairQueue) Push(x any)   { *q = append(*q, x.(pairCount)) }
func (q *pairQueue) Pop() any {
	last := len(*q) - 1
	top := (*q)[last]
	*q = (*q)[:last]
	return top
}
