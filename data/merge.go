package data

import "math"

// merges says which pairs of tokens a BPE merges, and in what order.
type merges struct {
	ids        map[string]int32 // ids of the tokens; every single byte is a token
	characters bool             // a piece starts from characters that are tokens, not from bytes
	whole      bool             // a piece that is itself a token becomes that token, whatever the ranks
	// ranks of pairs of tokens, the lowest merged first; nil: the rank of a pair is the id of its
	// union, and every union that is a token is merged.
	ranks map[[2]string]int32
}

// rank returns the rank of the pair piece[left:middle], piece[middle:end], if it has one.
func (m *merges) rank(piece string, left, middle, end int32) (rank int32, ok bool) {
	if m.ranks == nil {
		rank, ok = m.ids[piece[left:end]]
	} else {
		rank, ok = m.ranks[[2]string{piece[left:middle], piece[middle:end]}]
	}
	return rank, ok
}

// append appends the BPE ids of one piece to dst (Sennrich et al. 2016, algorithm 1, over bytes):
// it starts from single bytes and merges the adjacent pair of the lowest rank, the leftmost among
// equals, until no pair has a rank.
//
// Pairs wait in a heap, so a piece of n bytes takes O(n log n).
func (m *merges) append(dst []int32, piece string) []int32 {
	if id, ok := m.ids[piece]; ok && m.whole {
		return append(dst, id)
	}
	parts := m.split(piece, math.MaxInt32)
	for start := int32(0); int(start) < len(piece); start = parts.next[start] {
		dst = append(dst, m.ids[piece[start:parts.next[start]]])
	}
	return dst
}

// split merges a piece by the ranks below a limit and returns the parts.
func (m *merges) split(piece string, limit int32) partList {
	parts := newPartList(len(piece))
	if m.characters {
		m.joinCharacters(piece, parts)
	}
	var candidates pairHeap
	offer := func(left int32) {
		if end := parts.pairEnd(left); end > 0 {
			if rank, ok := m.rank(piece, left, parts.next[left], end); ok && rank < limit {
				candidates.push(pair(rank)<<32 | pair(left))
			}
		}
	}
	for i := range len(piece) - 1 {
		offer(int32(i))
	}
	for len(candidates) > 0 {
		top := candidates.pop()
		rank, left := int32(top>>32), int32(top&0xffffffff)
		// Skip a pair that no longer exists, because one of its parts has been merged.
		end := parts.pairEnd(left)
		if end <= 0 {
			continue
		}
		if now, ok := m.rank(piece, left, parts.next[left], end); !ok || now != rank {
			continue
		}
		parts.merge(left)
		offer(left)
		if before := parts.previous[left]; before >= 0 {
			offer(before)
		}
	}
	return parts
}

// partList is a doubly linked list of the parts of a piece of n bytes. A part is identified by its
// first byte; n stands for the end.
type partList struct {
	next     []int32 // [n] first byte of the part after; 0 once merged away
	previous []int32 // [n] first byte of the part before; -1 for the first
}

func newPartList(n int) partList {
	links := make([]int32, 2*n)
	list := partList{next: links[:n:n], previous: links[n:]}
	for i := range n {
		list.next[i], list.previous[i] = int32(i+1), int32(i-1)
	}
	return list
}

// pairEnd returns the end of the pair that part left forms with the next one; 0 if left is gone or
// is the last.
func (l partList) pairEnd(left int32) int32 {
	right := l.next[left]
	if right == 0 || int(right) == len(l.next) {
		return 0
	}
	return l.next[right]
}

// merge joins the part left with the one after it.
func (l partList) merge(left int32) {
	right := l.next[left]
	end := l.next[right]
	l.next[left], l.next[right] = end, 0
	if int(end) < len(l.next) {
		l.previous[end] = left
	}
}

// pair is a candidate for merging. Its high half is the rank, its low half the first byte, so pairs
// sort in the order in which they are merged.
type pair uint64

// pairHeap is a binary min-heap.
type pairHeap []pair

func (h *pairHeap) push(p pair) {
	*h = append(*h, p)
	heap := *h
	for i := len(heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if heap[parent] <= heap[i] {
			return
		}
		heap[parent], heap[i] = heap[i], heap[parent]
		i = parent
	}
}

func (h *pairHeap) pop() pair {
	heap := *h
	top, last := heap[0], len(heap)-1
	heap[0] = heap[last]
	heap = heap[:last]
	*h = heap
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && heap[child+1] < heap[child] {
			child++
		}
		if heap[i] <= heap[child] {
			return top
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
