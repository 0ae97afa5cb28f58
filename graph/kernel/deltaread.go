package kernel

// DeltaReadParams are the sizes of a DeltaRead. Each term of it has a lag: how many positions
// before the token's own it reads.
type DeltaReadParams struct {
	Tokens, Seq       int  // T, and tokens per row
	N, D              int  // a token's stream: N rows of D entries
	Taps              int  // taps of the filter, 1 without one
	FirstLag, LastLag int  // the terms with these lags and those between are summed
	Residual          bool // 1 is added to the filter at the token's own position
}

func (d DeltaReadParams) stream() int { return d.N * d.D }

// filter returns the number of the filter's entries.
func (d DeltaReadParams) filter() int { return d.Taps * d.stream() }

// weights returns the index, in the weights of all taps, of the weights [N, D] of a lag. The last
// tap is for lag 0, the token's own position.
func (d DeltaReadParams) weights(lag int) int { return (d.Taps - 1 - lag) * d.stream() }

// DeltaRead reduces a stream of N rows to one row, after a causal convolution over positions with a
// filter for each of its entries (Zhang et al. 2026, arXiv 2601.00417). With X_t [N, D] the stream
// of token t of a row, f [Taps, N, D] the filter and r [N],
//
//	u_t = sum over rows c of r[c] sum over lags j of f[Taps-1-j, c] ⊙ X_(t-j)[c]
//
// where positions before the first of the row, or of the token's document, count as zero. Without
// a filter it is u_t = sum over c of r[c] X_t[c], without r every r[c] is 1.
type DeltaRead[T Float] struct {
	forward  deltaReadTask[T]
	backward deltaReadGradTask[T]
	path     path
}

// Forward computes u [T, D] from x [T, N, D], filter (nil: none) and r. starts [T] holds, for each
// token, the first position in its row that it sees; nil: 0. With c, which may be nil, x has new
// tokens of each row, and rows says which row of c they extend; they are stored in c for the next
// run.
func (k *DeltaRead[T]) Forward(p *Pool, u, x, filter, r []T, c *CarriedRows[T], rows []CachedRow, starts []int32, d DeltaReadParams) {
	t := &k.forward
	t.d, t.path, t.carried, t.rows = d, pathOf[T](k.path), c, rows
	t.u, t.x, t.starts = u, x, starts
	t.weights = readWeights(t.path, t.weights, filter, r, d)
	t.tile = tileOf(t.tile, t.weights, d)
	p.Do(d.Tokens, t)
	if c != nil {
		c.put(x, rows, d.Seq)
	}
}

// readWeights computes r[c] f[j, c], [Taps, N, D].
func readWeights[T Float](p path, w, filter, r []T, d DeltaReadParams) []T {
	w = grow(w, d.filter())
	for i := range d.Taps * d.N {
		row := rowOf(w, i, d.D)
		if filter != nil {
			scaleTo(p, row, rowOf(filter, i, d.D), factorOf(r, i%d.N))
			continue
		}
		for j := range row {
			row[j] = r[i]
		}
	}
	if d.Residual {
		for i, last := 0, w[d.weights(0):]; i < d.stream(); i++ {
			last[i]++
		}
	}
	return w
}

// factorOf returns r[c], 1 without r.
func factorOf[T Float](r []T, c int) T {
	if r == nil {
		return 1
	}
	return r[c]
}

// lagWeights returns the weights of readWeights in the order of lags: the last tap first.
func lagWeights[T Float](p path, w, filter, r []T, d DeltaReadParams) []T {
	w = readWeights(p, w, filter, r, d)
	for i, j := 0, d.Taps-1; i < j; i, j = i+1, j-1 {
		a, b := rowOf(w, i, d.stream()), rowOf(w, j, d.stream())
		for e, v := range a {
			a[e], b[e] = b[e], v
		}
	}
	return w
}

// deltaTile is about how many entries a block of narrow tokens has, which are computed together: a
// call for each token would take as long as the products.
const deltaTile = 2048

// tokensOf returns the number of tokens of such a block; 1: there are none.
func (d DeltaReadParams) tokensOf() int {
	if n := deltaTile / d.D; d.N == 1 && n > 2 {
		return n
	}
	return 1
}

// tileOf repeats each tap's weights for the tokens of a block: [Taps, tokens, D].
func tileOf[T Float](tile, weights []T, d DeltaReadParams) []T {
	n := d.tokensOf()
	if n == 1 {
		return nil
	}
	tile = grow(tile, d.Taps*n*d.D)
	for i := range d.Taps * n {
		copy(rowOf(tile, i, d.D), rowOf(weights, i/n, d.D))
	}
	return tile
}

type deltaReadTask[T Float] struct {
	u, x, weights []T
	tile          []T // the weights of a block of tokens; nil: there are no blocks
	starts        []int32
	carried       *CarriedRows[T] // the tokens before x; nil: none
	rows          []CachedRow
	d             DeltaReadParams
	path          path
}

func (t *deltaReadTask[T]) Part(_, lo, hi int) {
	ahead := tokensAhead[T](t.d.stream())
	for i := lo; i < hi; i++ {
		prefetchToken(t.x, i+ahead, t.d.stream())
		if n := t.together(i, hi); n > 1 {
			t.block(i, n)
			i += n - 1
			continue
		}
		d, first := t.d, t.past(i)
		position := first + i%d.Seq
		last := min(d.LastLag, position-startOf(t.starts, i))
		here := min(last, position-first) // the last lag whose token is in x
		u := rowOf(t.u, i, d.D)
		var sum []T
		for lag := last; lag > here && lag >= d.FirstLag; lag-- {
			t.add(u, sum, t.stream(i, lag), lag, lag)
			sum = u
		}
		if lags := here - d.FirstLag + 1; lags > 0 {
			t.add(u, sum, t.x[(i-here)*d.stream():], here, d.FirstLag)
		} else if sum == nil {
			clear(u)
		}
	}
}

// together returns the number of tokens from i on and below hi that make a block: tokens of one row
// that see all lags in x.
func (t *deltaReadTask[T]) together(i, hi int) int {
	if t.tile == nil || t.carried != nil {
		return 1
	}
	return tokensThatSeeAll(i, min(t.d.tokensOf(), hi-i), t.starts, t.d)
}

// tokensThatSeeAll returns how many tokens from i on lie in one row and see all lags: at most most,
// at least 1.
func tokensThatSeeAll(i, most int, starts []int32, d DeltaReadParams) int {
	most = min(most, d.Seq-i%d.Seq)
	for n := range most {
		if (i+n)%d.Seq-startOf(starts, i+n) < d.LastLag {
			return max(n, 1)
		}
	}
	return most
}

// block computes n tokens that see all lags.
func (t *deltaReadTask[T]) block(i, n int) {
	d := t.d
	width := d.tokensOf() * d.D
	sumProducts(t.path, t.u[i*d.D:(i+n)*d.D], nil, t.tile[(d.Taps-1-d.LastLag)*width:], width, t.x[(i-d.LastLag)*d.D:], d.D, d.LastLag-d.FirstLag+1)
}

// add computes u = sum + the terms of the lags from the larger to the smaller, whose streams follow
// each other in x.
func (t *deltaReadTask[T]) add(u, sum, x []T, from, to int) {
	d := t.d
	sumProducts(t.path, u, sum, t.weights[d.weights(from):], d.D, x, d.D, (from-to+1)*d.N)
}

// past returns the position of the first token in token i's row.
func (t *deltaReadTask[T]) past(i int) int {
	if t.carried == nil {
		return 0
	}
	return int(t.rows[i/t.d.Seq].Past)
}

// stream returns the stored stream [N, D] of the position that is lag before token i's; it came
// before x.
func (t *deltaReadTask[T]) stream(i, lag int) []T {
	row := t.rows[i/t.d.Seq]
	return t.carried.at(row, int(row.Past)+i%t.d.Seq-lag)
}

// startOf returns the first position that token i sees.
func startOf(starts []int32, i int) int {
	if starts == nil {
		return 0
	}
	return int(starts[i])
}

// DeltaReadGrads holds the slices for the gradients: X [T, N, D], to which Addend is added unless
// it is nil, Filter [Taps, N, D] and R [N], nil if they are not wanted.
type DeltaReadGrads[T Float] struct {
	X, Addend, Filter, R []T
	AddToFilter, AddToR  bool // add to what the slices hold
}

// Backward computes the gradients of Forward's x, filter and r from du [T, D], with W[j, c] =
// r[c] f[j, c]:
//
//	dX_t[c] = sum over lags j of W[Taps-1-j, c] ⊙ du_(t+j) + Addend_t[c]
//	dW[Taps-1-j, c] = sum over t of du_t ⊙ X_(t-j)[c];   df[j, c] = r[c] dW[j, c];   dr[c] = sum over j of dW[j, c] . f[j, c]
//
// over the terms that Forward sums. dX may be Addend.
func (k *DeltaRead[T]) Backward(p *Pool, grads DeltaReadGrads[T], du, x, filter, r []T, starts []int32, d DeltaReadParams) {
	t := &k.backward
	t.d, t.path, t.grads = d, pathOf[T](k.path), grads
	t.du, t.x, t.starts = du, x, starts
	t.weights = lagWeights(t.path, t.weights, filter, r, d)
	t.tile = tileOf(t.tile, t.weights, d)
	wanted := grads.Filter != nil || grads.R != nil
	t.sums.set(p, t.path, choose(wanted, d.filter(), 0))
	t.tokens = pieces{d.Tokens, pieceTokens}
	p.Do(t.tokens.number(), t)
	if wanted {
		t.collect(t.sums.total(p), filter, r)
	}
}

type deltaReadGradTask[T Float] struct {
	grads          DeltaReadGrads[T]
	du, x, weights []T // weights in the order of lags
	tile           []T // of a block of tokens; nil: there are no blocks
	starts         []int32
	tokens         pieces
	sums           treeSums[T] // of dW; empty if it is not wanted
	d              DeltaReadParams
	path           path
}

// Part computes the pieces [lo, hi).
func (t *deltaReadGradTask[T]) Part(worker, lo, hi int) {
	sum := t.sums.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) { t.piece(sum.block, first, end) }, sum)
}

// piece computes dX of the tokens [i, end) and adds their terms of dW to sum.
func (t *deltaReadGradTask[T]) piece(sum []T, i, end int) {
	ahead := tokensAhead[T](t.d.stream())
	for i < end {
		tokens := tokensThatSeeAll(i, min(deltaReadTokens, end-i), t.starts, t.d)
		for j := i; j < i+tokens; j++ {
			prefetchToken(t.x, j+ahead, t.d.stream())
			prefetchToken(t.grads.X, j+ahead, t.d.stream())
		}
		for j := i; j < i+tokens; {
			n := t.seen(j, i+tokens)
			if n > 1 {
				t.block(j, n)
			} else {
				t.stream(j)
			}
			j += n
		}
		if sum != nil {
			t.products(sum, i, tokens)
		}
		i += tokens
	}
}

// deltaReadTokens is the largest number of tokens whose terms of dW are added together: what they
// read and write for a row of the stream stays in the first-level cache. They see all lags, unless
// there is only one.
const deltaReadTokens = 8

// seen returns the number of tokens from i on and below hi that make a block: tokens of one row
// whose later tokens, at all lags, see them.
func (t *deltaReadGradTask[T]) seen(i, hi int) int {
	if t.tile == nil {
		return 1
	}
	d := t.d
	most := min(d.tokensOf(), hi-i, d.Seq-d.LastLag-i%d.Seq)
	for n := range most {
		for lag := d.FirstLag; lag <= d.LastLag; lag++ {
			if startOf(t.starts, i+n+lag) > (i+n)%d.Seq {
				return max(n, 1)
			}
		}
	}
	return max(most, 1)
}

// block computes dX of n tokens that all later tokens see.
func (t *deltaReadGradTask[T]) block(i, n int) {
	d := t.d
	width := d.tokensOf() * d.D
	dx, addend := t.grads.X[i*d.D:(i+n)*d.D], t.grads.Addend
	if addend != nil {
		addend = addend[i*d.D : (i+n)*d.D]
	}
	sumProducts(t.path, dx, addend, t.tile[d.FirstLag*width:], width, t.du[(i+d.FirstLag)*d.D:], d.D, d.LastLag-d.FirstLag+1)
}

// stream computes dX of token i from the later tokens that see it, in runs of consecutive lags.
func (t *deltaReadGradTask[T]) stream(i int) {
	d, position := t.d, i%t.d.Seq
	dx, sum := rowOf(t.grads.X, i, d.stream()), rowOf(t.grads.Addend, i, d.stream())
	limit := min(d.LastLag, d.Seq-1-position)
	sees := func(lag int) bool { return lag <= limit && startOf(t.starts, i+lag) <= position }
	for lag := d.FirstLag; lag <= limit; lag++ {
		first := lag
		for sees(lag) {
			lag++
		}
		if lag > first {
			t.addTerms(dx, sum, i, first, lag-first)
			sum = dx
		}
	}
	copyOver(dx, sum)
}

// addTerms computes dx = sum + token i's terms with lags lags, beginning with lag first.
func (t *deltaReadGradTask[T]) addTerms(dx, sum []T, i, first, lags int) {
	d := t.d
	w, du := t.weights[first*d.stream():], t.du[(i+first)*d.D:]
	for c := range d.N {
		sumProducts(t.path, rowOf(dx, c, d.D), rowOf(sum, c, d.D), w[c*d.D:], d.stream(), du, d.D, lags)
	}
}

// products adds the terms of dW of the given number of tokens from i on: one token, or several that
// see all lags.
func (t *deltaReadGradTask[T]) products(sum []T, i, tokens int) {
	d := t.d
	for c := range d.N {
		for lag := d.FirstLag; lag <= min(d.LastLag, i%d.Seq-startOf(t.starts, i)); lag++ {
			dw := rowOf(sum[d.weights(lag):], c, d.D)
			sumProducts(t.path, dw, dw, t.du[i*d.D:], d.D, t.x[((i-lag)*d.N+c)*d.D:], d.stream(), tokens)
		}
	}
}

// collect computes the gradients of the filter and of r from dW.
func (t *deltaReadGradTask[T]) collect(total []float64, filter, r []T) {
	d := t.d
	for c := range d.N {
		dr := 0.0
		for tap := range d.Taps {
			at := (tap*d.N + c) * d.D
			for j, dw := range total[at:][:d.D] {
				switch {
				case filter == nil:
					dr += dw
				default:
					dr += dw * float64(filter[at+j])
					if t.grads.Filter != nil {
						store(&t.grads.Filter[at+j], dw*float64(factorOf(r, c)), t.grads.AddToFilter)
					}
				}
			}
		}
		if t.grads.R != nil {
			store(&t.grads.R[c], dr, t.grads.AddToR)
		}
	}
}
