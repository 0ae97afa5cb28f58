package kernel

// GradB1 computes db1_e (+)= sum over the rows j of e of dh_j, [experts, FF].
func (k *Experts[T]) GradB1(p *Pool, db, dh []T, d Dispatch, s ExpertSizes, accumulate bool) {
	k.biases.run(p, expertSums[T]{out: db, x: dh, d: d, width: s.Hidden, accumulate: accumulate, path: pathOf[T](k.gemm.path)})
}

// GradB2 computes db2_e (+)= sum over the rows j of e of g_j dy_t(j), [experts, D].
func (k *Experts[T]) GradB2(p *Pool, db, dy, gates []T, d Dispatch, s ExpertSizes, accumulate bool) {
	k.biases.run(p, expertSums[T]{out: db, x: dy, gates: gates, d: d, width: s.Width, accumulate: accumulate, path: pathOf[T](k.gemm.path)})
}

// expertSums sums the rows of each expert or, if there are gates, the rows of their tokens times
// the gates. Work is divided by columns, so that the sums do not depend on the number of threads.
type expertSums[T Float] struct {
	out        []T // [experts, width]
	x          []T // [rows, width], or [tokens, width]
	gates      []T // [tokens, K], or nil
	d          Dispatch
	width      int
	accumulate bool
	path       path
	sums       []blockedSum[T] // one for each worker
}

func (t *expertSums[T]) run(p *Pool, next expertSums[T]) {
	next.sums = growKept(t.sums, p.Threads())
	*t = next
	p.Do(columnGroups(t.width), t)
}

func (t *expertSums[T]) Part(worker, lo, hi int) {
	from, to := groupColumns(lo, hi, t.width)
	if from == to {
		return
	}
	s := &t.sums[worker]
	for e := range t.d.Experts {
		s.reset(t.path, to-from)
		first, end := t.d.rows(e)
		for row := first; row < end; row++ {
			t.add(s.block, row, from, to)
			s.added()
		}
		s.flush()
		s.store(t.out[e*t.width+from:e*t.width+to], t.accumulate)
	}
}

// add adds the columns [from, to) of one row's term.
func (t *expertSums[T]) add(sum []T, row, from, to int) {
	if t.gates == nil {
		addTo(t.path, sum, t.x[row*t.width+from:row*t.width+to])
		return
	}
	at := t.d.token(row) * t.width
	addMultiple(t.path, sum, t.x[at+from:at+to], t.gates[t.d.Order[row]])
}
