package kernel

// DeltaReadParams are the sizes of a DeltaRead. Each term of it has a lag: how many positions
// before the token's own it reads.
type DeltaReadParams struct {
	Tokens, Seq       int  // T, and tokens per row
	N, D              int  // a token's stream: N rows of D entries
	Taps              int  // taps of the filter, 1 without one
	FirstLag, LastLag int  // the terms with these lags and those between are summed
	Residual          bool // 1 is added to the filter at the token's own position

	// With Width > 0, N is 1, and x and u have Width entries a token. The D from First on are read,
	// the others copied.
	First, Width int
}

func (d DeltaReadParams) stream() int { return d.N * d.D }

// Pitches returns three distances, in elements: between tokens of x; between rows of x, which are a
// token's rows or, with N = 1, the rows of consecutive tokens; and between tokens of u.
func (d DeltaReadParams) Pitches() (token, row, result int) {
	if d.Width > 0 {
		return d.Width, d.Width, d.Width
	}
	return d.stream(), d.D, d.D
}

// xFrom returns what is read of x, from token i on.
func xFrom[T Float](x []T, i int, d DeltaReadParams) []T {
	token, _, _ := d.Pitches()
	return x[i*token+d.First:]
}

// uFrom returns what is computed of u, from token i on.
func uFrom[T Float](u []T, i int, d DeltaReadParams) []T {
	_, _, result := d.Pitches()
	return u[i*result+d.First:]
}

// copyOthers copies the entries of a token of Width entries that are not read.
func copyOthers[T Float](u, x []T, d DeltaReadParams) {
	copy(u[:d.First], x)
	copy(u[d.First+d.D:], x[d.First+d.D:])
}

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
	if n := deltaTile / d.D; d.N == 1 && d.Width == 0 && n > 2 {
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
	pitch, _, _ := t.d.Pitches()
	ahead := tokensAhead[T](pitch)
	for i := lo; i < hi; i++ {
		prefetchToken(t.x, i+ahead, pitch)
		if n := t.together(i, hi); n > 1 {
			t.block(i, n)
			i += n - 1
			continue
		}
		d, first := t.d, t.past(i)
		position := first + i%d.Seq
		last := min(d.LastLag, position-startOf(t.starts, i))
		here := min(last, position-first) // the last lag whose token is in x
		u := uFrom(t.u, i, d)[:d.D]
		if d.Width > 0 {
			copyOthers(rowOf(t.u, i, d.Width), rowOf(t.x, i, d.Width), d)
		}
		var sum []T
		for lag := last; lag > here && lag >= d.FirstLag; lag-- {
			t.add(u, sum, t.stream(i, lag), lag, lag)
			sum = u
		}
		if lags := here - d.FirstLag + 1; lags > 0 {
			t.add(u, sum, xFrom(t.x, i-here, d), here, d.FirstLag)
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
	_, row, _ := d.Pitches()
	sumProducts(t.path, u, sum, t.weights[d.weights(from):], d.D, x, row, (from-to+1)*d.N)
}

// past returns the position of the first token in token i's row.
func (t *deltaReadTask[T]) past(i int) int {
	if t.carried == nil {
		return 0
	}
	return int(t.rows[i/t.d.Seq].Past)
}

// stream returns what is read of the stored token that is lag before token i; it came before x.
func (t *deltaReadTask[T]) stream(i, lag int) []T {
	row := t.rows[i/t.d.Seq]
	return t.carried.at(row, int(row.Past)+i%t.d.Seq-lag)[t.d.First:]
}

// startOf returns the first position that token i sees.
func startOf(starts []int32, i int) int {
	if starts == nil {
		return 0
	}
	return int(starts[i])
}

// DeltaReadGrads holds the slices for the gradients: X [T, N, D], to which Addend is added unless
// it is nil, as it has to be with DeltaReadParams.Width, Filter [Taps, N, D] and R [N], nil if they
// are not wanted.
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
// over the terms that Forward sums. dX may be Addend or, with N = 1, du.
func (k *DeltaRead[T]) Backward(p *Pool, grads DeltaReadGrads[T], du, x, filter, r []T, starts []int32, d DeltaReadParams) {
	t := &k.backward
	t.d, t.path, t.grads = d, pathOf[T](k.path), grads
	t.du, t.x, t.starts = du, x, starts
	t.weights = lagWeights(t.path, t.weights, filter, r, d)
	t.tile = tileOf(t.tile, t.weights, d)
	wanted := grads.Filter != nil || grads.R != nil
	t.sums.set(p, t.path, choose(wanted, d.filter(), 0))
	t.tokens = pieces{d.Tokens, pieceTokens}
	t.prepareInPlace(p)
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
	inPlace        deltaReadInPlace[T]
}

// deltaReadInPlace lets dX take the place of du: a piece's last tokens, which read what the next
// piece replaces, are computed before all others.
type deltaReadInPlace[T Float] struct {
	tails []T // dX of each piece's last LastLag tokens, [pieces, LastLag, entries of a token]
	du    []T // a copy of du if LastLag is too long for tails
	on    bool
	first bool // tails are being computed
}

// prepareInPlace computes the tails, or copies du, if dX takes its place.
func (t *deltaReadGradTask[T]) prepareInPlace(p *Pool) {
	in := &t.inPlace
	in.on = len(t.du) > 0 && &t.du[0] == &t.grads.X[0]
	if in.on && t.d.LastLag >= t.tokens.size {
		in.du = grow(in.du, len(t.du))
		copy(in.du, t.du)
		t.du, in.on = in.du, false
	}
	if in.on {
		_, _, width := t.d.Pitches()
		in.tails = grow(in.tails, t.tokens.number()*t.d.LastLag*width)
		in.first = true
		p.Do(t.tokens.number(), t)
		in.first = false
	}
}

// tail returns the first token of a piece's tail and the dX that was computed for it; without tails
// the piece's end.
func (t *deltaReadGradTask[T]) tail(first, end int) (token int, dx []T) {
	if !t.inPlace.on {
		return end, nil
	}
	_, _, width := t.d.Pitches()
	token = max(first, end-t.d.LastLag)
	size := t.d.LastLag * width
	return token, t.inPlace.tails[first/t.tokens.size*size:][:(end-token)*width]
}

// Part computes the pieces [lo, hi).
func (t *deltaReadGradTask[T]) Part(worker, lo, hi int) {
	if t.inPlace.first {
		t.tokens.each(lo, hi, t.computeTail)
		return
	}
	sum := t.sums.begin(worker)
	t.tokens.each(lo, hi, func(first, end int) { t.piece(sum.block, first, end) }, sum)
}

// computeTail computes dX of the last of the tokens [first, end).
func (t *deltaReadGradTask[T]) computeTail(first, end int) {
	_, _, width := t.d.Pitches()
	token, dx := t.tail(first, end)
	for i := range end - token {
		t.stream(rowOf(dx, i, width), token+i)
	}
}

// piece computes dX of the tokens [i, end) and adds their terms of dW to sum.
func (t *deltaReadGradTask[T]) piece(sum []T, i, end int) {
	pitch, _, _ := t.d.Pitches()
	ahead := tokensAhead[T](pitch)
	tail, computed := t.tail(i, end)
	for i < end {
		tokens := tokensThatSeeAll(i, min(deltaReadTokens, end-i), t.starts, t.d)
		for j := i; j < i+tokens; j++ {
			prefetchToken(t.x, j+ahead, pitch)
			prefetchToken(t.grads.X, j+ahead, pitch)
		}
		if sum != nil {
			t.products(sum, i, tokens)
		}
		for j, last := i, min(i+tokens, tail); j < last; {
			n := t.seen(j, last)
			if n > 1 {
				t.block(j, n)
			} else {
				t.stream(rowOf(t.grads.X, j, pitch), j)
			}
			j += n
		}
		i += tokens
	}
	copy(t.grads.X[tail*pitch:], computed)
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

// stream computes dX of token i, all its entries, from the later tokens that see it, in runs of
// consecutive lags.
func (t *deltaReadGradTask[T]) stream(dx []T, i int) {
	d, position := t.d, i%t.d.Seq
	if d.Width > 0 {
		copyOthers(dx, rowOf(t.du, i, d.Width), d)
	}
	dx, sum := dx[d.First:][:d.stream()], rowOf(t.grads.Addend, i, d.stream())
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
	w, du := t.weights[first*d.stream():], uFrom(t.du, i+first, d)
	_, _, result := d.Pitches()
	for c := range d.N {
		sumProducts(t.path, rowOf(dx, c, d.D), rowOf(sum, c, d.D), w[c*d.D:], d.stream(), du, result, lags)
	}
}

// products adds the terms of dW of the given number of tokens from i on: one token, or several that
// see all lags.
func (t *deltaReadGradTask[T]) products(sum []T, i, tokens int) {
	d := t.d
	token, _, result := d.Pitches()
	for c := range d.N {
		for lag := d.FirstLag; lag <= min(d.LastLag, i%d.Seq-startOf(t.starts, i)); lag++ {
			dw := rowOf(sum[d.weights(lag):], c, d.D)
			sumProducts(t.path, dw, dw, uFrom(t.du, i, d), result, xFrom(t.x, i-lag, d)[c*d.D:], token, tokens)
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
