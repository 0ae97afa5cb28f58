package kernel

// SumRows sums the rows of a matrix, which gives the gradient of a bias that was added to each row.
type SumRows[T Float] struct {
	sum  sumRowsTask[T]
	add  addBiasTask[T]
	path path
}

// Run computes out[j] (+)= sum over i of x[i, j], with x [rows, width] and out [width]. accumulate
// adds to what out holds. The rows are summed by treeSums, so the result does not depend on the
// number of threads.
func (k *SumRows[T]) Run(p *Pool, out, x []T, rows, width int, accumulate bool) {
	t := &k.sum
	t.x, t.rows, t.path = x[:rows*width], pieces{rows, pieceTokens}, pathOf[T](k.path)
	t.sums.want(p, t.path, out[:width], accumulate)
	p.Do(t.rows.number(), t)
	t.sums.store(p)
}

// AddBias adds bias [width] to every row of y [rows, width], in place.
func (k *SumRows[T]) AddBias(p *Pool, y, bias []T, rows, width int) {
	k.add = addBiasTask[T]{y: y[:rows*width], bias: bias[:width], path: pathOf[T](k.path)}
	p.Do(rows, &k.add)
}

// columnGroup is the number of columns that one worker handles together: 64 bytes of float32, a
// cache line.
const columnGroup = 16

func columnGroups(width int) int { return (width + columnGroup - 1) / columnGroup }

// groupColumns returns the columns [first, end) of the groups [lo, hi).
func groupColumns(lo, hi, width int) (first, end int) {
	return min(lo*columnGroup, width), min(hi*columnGroup, width)
}

type sumRowsTask[T Float] struct {
	x    []T
	rows pieces
	sums treeSums[T]
	path path
}

func (t *sumRowsTask[T]) Part(worker, lo, hi int) {
	sum := t.sums.begin(worker)
	t.rows.each(lo, hi, func(first, end int) {
		for i := first; i < end; i++ {
			addTo(t.path, sum.block, rowOf(t.x, i, len(sum.block)))
		}
	}, sum)
}

type addBiasTask[T Float] struct {
	y, bias []T
	path    path
}

func (t *addBiasTask[T]) Part(_, lo, hi int) {
	width := len(t.bias)
	for i := lo; i < hi; i++ {
		addTo(t.path, t.y[i*width:(i+1)*width], t.bias)
	}
}

// blockedSum sums many terms of the same length in T without an error that grows with their number:
// it adds blockTerms of them in T, then adds the block to a total in float64.
type blockedSum[T Float] struct {
	block []T       // the sum to which the next term is added
	total []float64 // the sum of the blocks before
	terms int       // number of terms in block
	path  path

	flushed bool // total is not zero
}

const blockTerms = 32

// reset starts a sum of terms with n elements.
func (s *blockedSum[T]) reset(p path, n int) {
	s.block, s.total, s.terms, s.path, s.flushed = grow(s.block, n), grow(s.total, n), 0, p, false
	clear(s.block)
	clear(s.total)
}

// added counts one term that has been added to block.
func (s *blockedSum[T]) added() {
	if s.terms++; s.terms >= blockTerms {
		s.flush()
	}
}

// flush adds the block to the total.
func (s *blockedSum[T]) flush() { s.flushInto(s.total) }

// flushInto adds the block to total and sets it to zero.
func (s *blockedSum[T]) flushInto(total []float64) {
	s.terms, s.flushed = 0, true
	if s.path > portable {
		fastFlush(s.path, s.block, total)
		return
	}
	total = total[:len(s.block)]
	for j, v := range s.block {
		total[j] += float64(v)
	}
	clear(s.block)
}

// store writes the total to out, or adds it if accumulate is true.
func (s *blockedSum[T]) store(out []T, accumulate bool) { storeTotal(out, s.total, accumulate) }

// storeTotal writes a sum to out, or adds it if accumulate is true.
func storeTotal[T Float](out []T, total []float64, accumulate bool) {
	total = total[:len(out)]
	for j, v := range total {
		store(&out[j], v, accumulate)
	}
}

// growKept returns a slice of n elements that keeps the old elements with their buffers.
func growKept[E any](s []E, n int) []E {
	for len(s) < n {
		var next E
		s = append(s, next)
	}
	return s[:n]
}

// growRows returns a slice of n elements for each worker of a Pool, reusing those in s that are
// large enough.
func growRows[E any](s [][]E, p *Pool, n int) [][]E {
	s = growKept(s, p.Threads())
	for i := range s {
		s[i] = grow(s[i], n)
	}
	return s
}
