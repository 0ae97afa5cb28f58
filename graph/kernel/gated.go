package kernel

// GatedParams are the sizes of a GatedRead or a GatedWrite.
type GatedParams struct {
	Tokens int
	N      int // n, rows of a token's stream
	D      int // d, elements in a row
	Width  int // entries of a token's projection x
	Rank   int // number of x's first entries, from which the gates are made (GatedRead)
}

func (d GatedParams) stream() int { return d.N * d.D }

// GatedRead reads from a stream of several rows, with a gate for each entry, as gated residuals do
// (arXiv 2608.30320): with z_t [n, d] the normalised stream of token t and x_t [width] its
// projection, whose first rank entries are used,
//
//	h_t = silu(x_t[:rank] / n),   silu(v) = v sigmoid(v);   a_t = h_t W        W [rank, n d]
//	u_t = 1/n sum over i of sigmoid(a_t[i]) ⊙ z_t[i]
//
// It takes a few tokens at a time, so that the gates a stay in the second-level cache; Backward
// computes them again. The sigmoid of the gates is computed in float32 (expSingle), the one in h as
// in GLU.
type GatedRead[T Float] struct {
	forward  gatedReadForward[T]
	backward gatedReadBackward[T]
	up       []T // W in panels, as micro-kernels read it
	down     []T // W^T [n d, rank]
	path     path
}

// Forward computes u [tokens, d] from z [tokens, n, d], x [tokens, width] and w [rank, n d].
func (k *GatedRead[T]) Forward(p *Pool, u, z, x, w []T, d GatedParams) {
	t := &k.forward
	k.up = panels(kernelsOf[T](k.path), k.up, w, d.Rank, d.stream())
	t.gatedReadTask = newGatedReadTask(k.path, k.up, x, d)
	t.u, t.z = u, z
	t.scratch = growKept(t.scratch, p.Threads())
	p.Do(d.Tokens, t)
}

// panels packs b [k, n] into panels of columns in space, which it grows if necessary. The last
// panel takes as much memory as the others.
func panels[T Float](kernels *microkernels, space, b []T, k, n int) []T {
	width := kernels.width()
	space = grow(space, (n+width-1)/width*width*k)
	x := block[T]{kernels: kernels, n: n, panel: width * k}
	x.tile.k = k
	q := product[T]{b: b[:k*n], ldb: n}
	q.packRows(&x, space, 0, 0)
	return space
}

// gatedReadTask computes the gates of a few tokens.
type gatedReadTask[T Float] struct {
	x, up []T
	d     GatedParams
	path  path
	gates block[T] // a = h W
}

// gatedStride returns the distance between the gates of two tokens: not a power of two, see
// strideA.
func gatedStride(size int) int { return size + 16 }

func newGatedReadTask[T Float](p path, up, x []T, d GatedParams) gatedReadTask[T] {
	t := gatedReadTask[T]{x: x, d: d, path: pathOf[T](p), gates: newBlock[T](p, 0, d.stream(), d.Rank, false)}
	width := t.gates.kernels.width()
	t.gates.panel = width * d.Rank
	t.gates.tile.bs, t.gates.tile.cs = width, gatedStride(d.stream())
	t.up = up
	return t
}

// The numbers of tokens that are taken together: their gates are about 96 KB of float32. A piece of
// the tokens, over which dW is summed in T, consists of several such blocks.
const (
	gatedBlock  = 24 << 10
	gatedMost   = 32
	gatedFewest = 8
	gatedPiece  = 64
)

// together returns the number of tokens of a block.
func (t *gatedReadTask[T]) together() int {
	tokens := gatedMost
	for tokens > gatedFewest && tokens*t.d.stream() > gatedBlock {
		tokens /= 2
	}
	return tokens
}

// gatedScratch is a worker's memory for the tokens of a block.
type gatedScratch[T Float] struct {
	hidden, gates []T // h [tokens, rank]; a, at gatedStride
}

// open computes h and a of the tokens [lo, hi).
func (t *gatedReadTask[T]) open(s *gatedScratch[T], lo, hi int) {
	rank, most := t.d.Rank, t.together()
	s.hidden, s.gates = grow(s.hidden, most*rank), grow(s.gates, most*gatedStride(t.d.stream()))
	for i := lo; i < hi; i++ {
		h := rowOf(s.hidden, i-lo, rank)
		scaleTo(t.path, h, rowOf(t.x, i, t.d.Width)[:rank], 1/T(t.d.N))
		gatedAlone(t.path, h, h, h)
	}
	gates := t.gates
	gates.m = hi - lo
	gates.multiply(s.gates, s.hidden, t.up, nil)
}

// row returns the gates of row c of the block's token i.
func (t *gatedReadTask[T]) row(s *gatedScratch[T], i, c int) []T {
	return s.gates[i*gatedStride(t.d.stream())+c*t.d.D:][:t.d.D]
}

type gatedReadForward[T Float] struct {
	gatedReadTask[T]
	u, z    []T
	scratch []gatedScratch[T] // one for each worker
}

func (t *gatedReadForward[T]) Part(worker, lo, hi int) {
	s, most, size := &t.scratch[worker], t.together(), t.d.stream()
	ahead := tokensAhead[T](size)
	for ; lo < hi; lo += most {
		end := min(lo+most, hi)
		t.open(s, lo, end)
		for i := lo; i < end; i++ {
			prefetchToken(t.z, i+ahead, size)
			u := rowOf(t.u, i, t.d.D)
			var sum []T
			for c := range t.d.N {
				gatedQuick(t.path, u, t.row(s, i-lo, c), rowOf(t.z, i*t.d.N+c, t.d.D), sum)
				sum = u
			}
			scaleTo(t.path, u, u, 1/T(t.d.N))
		}
	}
}
