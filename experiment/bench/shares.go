package bench

// shares adds up how much of a table's work is done.
type shares struct {
	parts []float64 // the work of each comparison, in any unit
	next  int
}

// begin counts the work of comparisons, which follow in this order.
func (b *Bench) begin(parts []float64) { b.shares = shares{parts: parts} }

// beginModels counts the work of comparisons, each of which has the same jobs with another model.
func (b *Bench) beginModels(chosen []Workload, work func(Workload) float64) {
	var parts []float64
	for _, w := range chosen {
		parts = append(parts, work(w))
	}
	b.begin(parts)
}

// part begins the next comparison. It returns a function that reports how much of all work is done,
// given the share of the comparison.
func (b *Bench) part() func(share float64) {
	before, total := 0.0, 0.0
	for i, part := range b.shares.parts {
		if total += part; i < b.shares.next {
			before += part
		}
	}
	own := 0.0
	if b.shares.next < len(b.shares.parts) {
		own = b.shares.parts[b.shares.next]
	}
	b.shares.next++
	report := func(share float64) {
		if b.o.Progress != nil && total > 0 {
			b.o.Progress(min(1, (before+share*own)/total))
		}
	}
	report(0)
	return report
}
