package eval

import (
	"cmp"
	"slices"

	"github.com/residua-go/residua/models"
)

// Limits on what runs together; a single row is always allowed.
const (
	likelihoodTokens     = 2048      // tokens of all rows together, unless Options.Batch sets the number of rows
	likelihoodLogitBytes = 128 << 20 // bytes of the logits [positions, vocab]
)

// row is the input of one row of a batch, with the requests that it answers.
type row struct {
	tokens    []int32
	requests  []int // indices of the requests
	from      []int // for each request, the position that predicts its first token
	positions []int // positions whose logits the requests need, in order
}

// rowsOf puts the requests into rows, the longest first. A request's input is the last window + 1
// tokens of context and continuation, without the final token. If it is the beginning of another
// request's input, the two share a row.
func rowsOf(requests []Request, window int) []row {
	inputs := make([][]int32, len(requests))
	order := make([]int, len(requests))
	for i, r := range requests {
		whole := slices.Concat(r.Context, r.Continuation)
		inputs[i], order[i] = whole[max(0, len(whole)-window-1):len(whole)-1], i
	}
	// In lexical order, everything that begins with x comes directly after x.
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(inputs[a], inputs[b]) })
	var rows []row
	for _, i := range slices.Backward(order) {
		if last := len(rows) - 1; last < 0 || !beginsWith(rows[last].tokens, inputs[i]) {
			rows = append(rows, row{tokens: inputs[i]})
		}
		r := &rows[len(rows)-1]
		r.requests, r.from = append(r.requests, i), append(r.from, len(inputs[i])-len(requests[i].Continuation))
	}
	for i := range rows {
		rows[i].findPositions(requests)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(len(b.tokens), len(a.tokens)) })
	return rows
}

func beginsWith(tokens, start []int32) bool {
	return len(start) <= len(tokens) && slices.Equal(tokens[:len(start)], start)
}

// findPositions sets r.positions.
func (r *row) findPositions(requests []Request) {
	for k, i := range r.requests {
		for p := range requests[i].Continuation {
			r.positions = append(r.positions, r.from[k]+p)
		}
	}
	slices.Sort(r.positions)
	r.positions = slices.Compact(r.positions)
}

// run is a set of rows of one padded length: one program serves them all, batch by batch.
type run struct {
	seq, rows, positions int // tokens of a padded row; rows and positions in the largest batch
	batches              [][]row
}

// planRuns groups rows, which are sorted from the longest to the shortest, into runs. batch is
// the number of rows that run together; 0: as many as the limits allow.
func planRuns(rows []row, spec models.Spec, batch int) []run {
	var runs []run
	for len(rows) > 0 {
		seq := min(padded(len(rows[0].tokens)), spec.Seq)
		n, positions := 0, 0
		for n < len(rows) && (n == 0 || batchHolds(n+1, seq, batch) && 4*spec.Vocab*(positions+len(rows[n].positions)) <= likelihoodLogitBytes) {
			positions += len(rows[n].positions)
			n++
		}
		if last := len(runs) - 1; last < 0 || runs[last].seq != seq {
			runs = append(runs, run{seq: seq})
		}
		last := &runs[len(runs)-1]
		last.rows, last.positions = max(last.rows, n), max(last.positions, positions)
		last.batches = append(last.batches, rows[:n])
		rows = rows[n:]
	}
	return runs
}

func batchHolds(rows, seq, batch int) bool {
	if batch > 0 {
		return rows <= batch
	}
	return rows*seq <= likelihoodTokens
}

// padded rounds a length up, so that few programs serve all lengths: to a multiple of 8 or,
// from 128 on, of the power of two that adds at most an eighth.
func padded(n int) int {
	step := 8
	for 16*step <= n {
		step *= 2
	}
	return (n + step - 1) / step * step
}
