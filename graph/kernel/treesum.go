package kernel

// pieces divides n items, usually the tokens of a batch, into pieces of the same size, which does
// not depend on the number of threads; the last piece may be smaller.
type pieces struct{ n, size int }

// pieceTokens is the size of pieces unless there is a reason for another.
const pieceTokens = 32

func (c pieces) number() int { return (c.n + c.size - 1) / c.size }

// items returns the items [first, end) of piece i.
func (c pieces) items(i int) (first, end int) { return i * c.size, min((i+1)*c.size, c.n) }

// each calls work with the items of each piece in [lo, hi), and closes the piece in the sums.
func (c pieces) each(lo, hi int, work func(first, end int), sums ...interface{ end(piece int) }) {
	for piece := lo; piece < hi; piece++ {
		work(c.items(piece))
		for _, s := range sums {
			s.end(piece)
		}
	}
}

// treeSums sums terms of many items, divided into pieces that the workers of a Pool share. The
// pieces are the leaves of a binary tree that depends only on their number. Each sum of two
// subtrees is made in float64, as the tree says, by the worker that has both, or at the end. So the
// bits do not depend on the number of workers, and rounding errors grow with the logarithm of the
// number of pieces (pairwise summation; Higham 1993, SIAM J. Sci. Comput. 14(4)).
type treeSums[T Float] struct {
	workers    []treeSum[T]
	fold       treeFold
	zero       []float64 // the total if there are no items
	size       int
	out        []T
	accumulate bool
	path       path
}

// want prepares a run. At its end store writes the total to out, or adds it if accumulate is
// true. If out is nil, the total is not wanted, and workers have no block to add to.
func (s *treeSums[T]) want(p *Pool, path path, out []T, accumulate bool) {
	s.out, s.accumulate = out, accumulate
	s.set(p, path, len(out))
}

// set prepares sums of size elements for a run.
func (s *treeSums[T]) set(p *Pool, path path, size int) {
	s.workers, s.size, s.path = growKept(s.workers, p.Threads()), size, path
}

// begin returns the empty sum of a worker. Every part of a task calls it once, even if it has no
// pieces.
func (s *treeSums[T]) begin(worker int) *treeSum[T] {
	w := &s.workers[worker]
	w.reset(s.path, s.size)
	return w
}

// total returns the sum over all pieces; call it once a run. It is valid until the next run.
func (s *treeSums[T]) total(p *Pool) []float64 {
	s.fold.nodes = s.fold.nodes[:0]
	for w := range s.workers {
		s.fold.nodes = append(s.fold.nodes, s.workers[w].nodes...)
	}
	switch len(s.fold.nodes) {
	case 0:
		s.zero = grow(s.zero, s.size)
		clear(s.zero)
		return s.zero
	case 1:
	default:
		s.fold.size, s.fold.path = s.size, s.path
		s.fold.run(p)
	}
	return s.fold.nodes[0].sum
}

// store writes the total to the slice that want named.
func (s *treeSums[T]) store(p *Pool) {
	if s.out != nil {
		storeTotal(s.out, s.total(p), s.accumulate)
	}
}

// treeSum is one worker's part of a treeSums: the open piece, and the complete subtrees.
type treeSum[T Float] struct {
	blockedSum[T]
	nodes []treeNode  // from left to right
	free  [][]float64 // buffers for sums of further nodes
	_     [cacheLine]byte
}

// treeNode is a subtree of 1 << level pieces, the last of which may be missing.
type treeNode struct {
	first, level int
	sum          []float64
}

// precedes tells whether l is the left half of the subtree whose right half is n.
func (l treeNode) precedes(n treeNode) bool {
	return l.level == n.level && l.first>>l.level&1 == 0 && l.first+1<<l.level == n.first
}

// reset removes all pieces.
func (s *treeSum[T]) reset(p path, size int) {
	for _, n := range s.nodes {
		s.free = append(s.free, n.sum)
	}
	s.nodes = s.nodes[:0]
	s.blockedSum.reset(p, size)
	if size == 0 {
		s.block = nil
	}
}

// end closes a piece, which consists of everything added since the last call. A part closes its
// pieces in order.
func (s *treeSum[T]) end(piece int) {
	node := treeNode{first: piece}
	if last := len(s.nodes) - 1; last >= 0 && !s.flushed && s.nodes[last].precedes(node) {
		s.flushInto(s.nodes[last].sum)
		node = s.nodes[last].joined()
		s.nodes = s.nodes[:last]
	} else {
		s.flush()
		node.sum, s.total = s.total, s.buffer()
		clear(s.total)
	}
	s.flushed = false
	for last := len(s.nodes) - 1; last >= 0 && s.nodes[last].precedes(node); last-- {
		left := s.nodes[last]
		addDoubles(s.path, left.sum, node.sum)
		s.free = append(s.free, node.sum)
		node, s.nodes = left.joined(), s.nodes[:last]
	}
	s.nodes = append(s.nodes, node)
}

// joined returns the subtree whose left half is l, after the right half's sum has been added to
// l's.
func (l treeNode) joined() treeNode {
	return treeNode{first: l.first, level: l.level + 1, sum: l.sum}
}

// buffer returns room for a sum.
func (s *treeSum[T]) buffer() []float64 {
	var b []float64
	if last := len(s.free) - 1; last >= 0 {
		b, s.free = s.free[last], s.free[:last]
	}
	return grow(b, len(s.block))
}

// treeFold adds up the nodes of all workers, from left to right, into the sum of the first worker.
type treeFold struct {
	nodes []treeNode
	size  int
	path  path
}

// worthFolding is the number of additions from which waking the workers pays.
const worthFolding = 1 << 14

func (t *treeFold) run(p *Pool) {
	if t.size*len(t.nodes) < worthFolding {
		t.Part(0, 0, columnGroups(t.size))
		return
	}
	p.Do(columnGroups(t.size), t)
}

// Part adds up the groups of columns [lo, hi).
func (t *treeFold) Part(_, lo, hi int) {
	from, to := groupColumns(lo, hi, t.size)
	if from == to {
		return
	}
	var stack [64]treeNode // with decreasing levels
	top := 0
	for _, node := range t.nodes {
		for top > 0 && stack[top-1].precedes(node) {
			addDoubles(t.path, stack[top-1].sum[from:to], node.sum[from:to])
			node = stack[top-1].joined()
			top--
		}
		stack[top] = node
		top++
	}
	for _, node := range stack[1:top] {
		addDoubles(t.path, stack[0].sum[from:to], node.sum[from:to])
	}
}

// addDoublesPortable computes out += x.
func addDoublesPortable(out, x []float64) {
	x = x[:len(out)]
	for j, v := range x {
		out[j] += v
	}
}
