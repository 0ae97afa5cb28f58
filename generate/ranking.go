package generate

// ranking returns candidates in the order of their logits, likeliest first, and sorts only as many
// as are asked for: it takes O(n) to set up and O(log n) for each candidate.
type ranking struct {
	heap   []candidate // not returned yet; no entry ranks above its parent
	ranked []candidate // returned already, in order
}

// rank starts over with other candidates, and reorders their slice.
func (r *ranking) rank(candidates []candidate) {
	r.heap, r.ranked = candidates, r.ranked[:0]
	for i := len(candidates)/2 - 1; i >= 0; i-- {
		r.sift(i)
	}
}

// before tells whether a ranks above b.
func before(a, b candidate) bool {
	return a.logit > b.logit || (a.logit == b.logit && a.id < b.id)
}

// sift moves entry i down the heap to its place.
func (r *ranking) sift(i int) {
	for {
		child := 2*i + 1
		if child >= len(r.heap) {
			return
		}
		if child+1 < len(r.heap) && before(r.heap[child+1], r.heap[child]) {
			child++
		}
		if !before(r.heap[child], r.heap[i]) {
			return
		}
		r.heap[i], r.heap[child] = r.heap[child], r.heap[i]
		i = child
	}
}

// first returns the k likeliest candidates, all if there are fewer.
func (r *ranking) first(k int) []candidate {
	for len(r.ranked) < k && len(r.heap) > 0 {
		last := len(r.heap) - 1
		r.ranked = append(r.ranked, r.heap[0])
		r.heap[0] = r.heap[last]
		r.heap = r.heap[:last]
		r.sift(0)
	}
	return r.ranked[:min(k, len(r.ranked))]
}

// nucleus returns the shortest list of the likeliest candidates, at most k, whose weights sum to at
// least wanted.
func (r *ranking) nucleus(wanted float64, k int) []candidate {
	sum := 0.0
	for n := 1; n < k; n++ {
		sum += r.first(n)[n-1].weight
		if sum >= wanted {
			return r.ranked[:n]
		}
	}
	return r.first(k)
}
