package kernel

// attentionSight says what the query at a position sees: the sinks, which are the keys
// start:sinks, and the keys from first to its own position. sinks <= first: a key that is both a
// sink and in the window counts as one of the window.
//
//	first = max(start, position+1-Window)        without a window: start
//	sinks = min(start+Sinks, first)
//
// start is where the query's document begins, or its row: the sinks belong to its document (Xiao et
// al. 2024, arXiv 2309.17453, attention sinks; Beltagy et al. 2020, arXiv 2004.05150, sliding
// windows).
type attentionSight struct{ start, sinks, first int }

// sight returns what a query at a position sees of a document that begins at start.
func (d *AttentionParams) sight(start, position int) attentionSight {
	if d.Window <= 0 {
		return attentionSight{start, start, start}
	}
	first := max(start, position+1-d.Window)
	return attentionSight{start, min(start+max(d.Sinks, 0), first), first}
}

// hasSinks tells whether a query may see sinks before its window.
func (d *AttentionParams) hasSinks() bool { return d.Window > 0 && d.Sinks > 0 }

// Visible returns the number of pairs of a query and a key that it sees, in a row that is one
// document.
func (d *AttentionParams) Visible() int {
	window := d.Seq
	if d.Window > 0 {
		window = min(window, d.Window)
	}
	return rising(d.Seq, window) + rising(d.Seq-window, d.Sinks)
}

// rising returns the sum of min(i, most) over i = 1..n.
func rising(n, most int) int {
	most = min(n, most)
	return most*(most+1)/2 + (n-most)*most
}

// keyRange is the positions j0:j1.
type keyRange struct{ j0, j1 int }

// blockKeys holds the keys that a block of queries sees: the sinks, if any, lie before near.
type blockKeys struct {
	sinks, near  keyRange
	past, window int // of the spans over near
}

// ranges returns the sinks and the other keys.
func (k blockKeys) ranges() [2]keyRange { return [2]keyRange{k.sinks, k.near} }

// first returns the position of the first key.
func (k blockKeys) first() int {
	if k.sinks.j0 < k.sinks.j1 {
		return k.sinks.j0
	}
	return k.near.j0
}

// span returns the block of queries i0:i1 with some of its keys.
func (k blockKeys) span(i0, i1, j0, j1 int) attentionSpan {
	s := attentionSpan{i0, i1, j0, j1, k.past, 0}
	if j0 >= k.near.j0 {
		s.window = k.window
	}
	return s
}

// blockKeys returns the keys that the queries i0:i1 of a row see.
func (a *Attention[T]) blockKeys(row, i0, i1 int) blockKeys {
	k := a.d.blockKeys(a.past(row), i0, i1, a.starts != nil, func(i int) int { return a.start(row, i) })
	if a.tiles != nil { // begins with a panel
		k.near.j0 = k.near.j0 / tileK * tileK
	}
	return k
}

// blockKeys returns the keys that the queries i0:i1 see; the first query is at position past+i0.
// start returns where the document of query i begins. Without documents it is called once.
func (d *AttentionParams) blockKeys(past, i0, i1 int, documents bool, start func(i int) int) blockKeys {
	near := keyRange{past + i1, past + i1}
	last := i1
	if !documents { // the first query decides: the others see no key before its first one
		last = i0 + 1
	}
	for i := i0; i < last; i++ {
		near.j0 = min(near.j0, d.sight(start(i), past+i).first)
	}
	k := blockKeys{near: near, past: past, sinks: keyRange{near.j0, 0}, window: max(d.Window, 0)}
	if !d.hasSinks() {
		return k
	}
	for i := i0; i < i1; i++ {
		s := d.sight(start(i), past+i)
		if s.start < s.sinks && s.sinks > near.j0 { // a sink lies among the other keys, so the spans must not skip any
			k.window = 0
		}
		if s.start < s.sinks && s.start < near.j0 {
			k.sinks = keyRange{min(k.sinks.j0, s.start), max(k.sinks.j1, min(s.sinks, near.j0))}
		}
	}
	return k
}

// clearUnseen sets to 0 the entries of a row, one for each key, that the query at position i does
// not see.
func clearUnseen[T Float](row []T, s attentionSight, i int) {
	clear(row[:s.start])
	clear(row[s.sinks:s.first])
	clear(row[i+1:])
}
