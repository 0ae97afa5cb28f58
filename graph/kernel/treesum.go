package kernel

// pieces cuts n items, most often the tokens of a batch, into pieces of one size, whatever the
// number of threads; the last piece may have fewer.
type pieces struct{ n, size int }

// pieceTokens is the size of pieces where nothing speaks for another one.
const pieceTokens = 32

func (c pieces) number() int { return (c.n + c.size - 1) / c.size }

// items returns the items [first, end) of piece i.
func (c pieces) items(i int) (first, end int) { return i * c.size, min((i+1)*c.size, c.n) }

// each calls work with the items of the pieces [lo, hi), and closes each piece in the sums.
func (c pieces) each(lo, hi int, work func(first, end int), sums ...interface{ end(piece int) }) {
	for piece := lo; piece < hi; piece++ {
		work(c.items(piece))
		for _, s := range sums {
			s.end(piece)
		}
	}
}

// treeSums adds up terms of many items, cut into pieces that are dealt to the workers of a Pool.
// The pieces are the leaves of a binary tree that depends on their number alone, and every sum of
// two subtrees is made in float64 as the tree says, by the worker that has both of them or in the
// end. So the bits do not depend on the number of workers, and rounding errors grow with the
// logarithm of the number of pieces (pairwise summation; Higham 1993, SIAM J. Sci. Comput. 14(4)).
type treeSums[T Float] struct {
	workers    []treeSum[T]
	fold       treeFold
	zero       []float64 // the total of no items
	size       int
	out        []T
	accumulate bool
	path       path
}

// want readies a run whose total store writes to out, or adds to it. A nil out is not wanted: then
// workers have no block to add to.
func (s *treeSums[T]) want(p *Pool, path path, out []T, accumulate bool) {
	s.out, s.accumulate = out, accumulate
	s.set(p, path, len(out))
}

// set readies sums of size elements for a run.
func (s *treeSums[T]) set(p *Pool, path path, size int) {
	s.workers, s.size, s.path = growKept(s.workers, p.Threads()), size, path
}

// begin returns the sum of a worker, empty. Every part of a task calls it once, also one without
// pieces.
func (s *treeSums[T]) begin(worker int) *treeSum[T] {
	w := &s.workers[worker]
	w.reset(s.path, s.size)
	return w
}

// total returns the sum over all pieces, once a run. It is valid until the next run.
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

// store puts the total where it is wanted.
func (s *treeSums[T]) store(p *Pool) {
	if s.out != nil {
		storeTotal(s.out, s.total(p), s.accumulate)
	}
}

// treeSum is one worker's part of a treeSums: the open piece, and the subtrees that are done.
type treeSum[T Float] struct {
	blockedSum[T]
	nodes []treeNode  // from left to right
	free  [][]float64 // for sums of further nodes
	_     [cacheLine]byte
}

// treeNode is a subtree of 1 << level pieces, of which the last may not exist.
type treeNode struct {
	first, level int
	sum          []float64
}

// precedes tells whether the node is the left half of the subtree that has n as its right half.
func (l treeNode) precedes(n treeNode) bool {
	return l.level == n.level && l.first>>l.level&1 == 0 && l.first+1<<l.level == n.first
}

// reset forgets all pieces.
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

// end closes a piece, to which everything since the last call belongs. The pieces of a part are
// closed in their order.
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

// joined is the subtree of which the node is the left half, after its sum got the right half's.
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

// treeFold adds up the nodes of all workers, from left to right, into the sum of the first one.
type treeFold struct {
	nodes []treeNode
	size  int
	path  path
}

// worthFolding is the number of additions that pays for waking the workers.
const worthFolding = 1 << 14

func (t *treeFold) run(p *Pool) {
	if t.size*len(t.nodes) < worthFolding {
		t.Part(0, 0, columnGroups(t.size))
		return
	}
	p.Do(columnGroups(t.size), t)
}

// Part folds some groups of columns.
func (t *treeFold) Part(_, lo, hi int) {
	from, to := groupColumns(lo, hi, t.size)
	if from == to {
		return
	}
	var stack [64]treeNode // their levels fall
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

// addDoubles computes out += x.
func addDoubles(p path, out, x []float64) {
	if p > portable {
		fastAddDoubles(p, out, x)
		return
	}
	x = x[:len(out)]
	for j, v := range x {
		out[j] += v
	}
}
