package learner

import (
	"context"
	"fmt"
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/trainer/distributed"
)

// Skipper is implemented by Batches that can skip the micro-batches of other ranks. A Learner
// reads and discards them if its Batches is not a Skipper.
type Skipper interface {
	// Skip moves on by n micro-batches.
	Skip(n int)
}

// ranks connects a Learner to the other ranks of its group. Each rank computes the gradients
// of its own micro-batches. The gradients are summed over the ranks, each entry on the rank
// that updates it (reduce-scatter), and the updated entries are sent to all ranks
// (all-gather).
type ranks struct {
	group   *distributed.Group
	buckets []*bucket
	of      map[*graph.Param]*bucket
	reduced []*distributed.Pending // of this step's gradients
	device  *graph.DeviceRanks     // connects the ranks' GPUs; nil: on the CPU

	sumSquares float64 // of the gradients, over all ranks
}

// bucket is a set of parameters whose gradients are reduced together.
type bucket struct {
	params  int
	missing int                         // parameters whose gradients are not final yet
	reduce  func() *distributed.Pending // sums the gradients over the ranks
	spread  func() *distributed.Pending // sends the new weights to all ranks
}

// newRanks prepares the collective operations on a program's parameters.
func newRanks(g *distributed.Group, store *graph.Store, optimizer *optim.Optimizer) (*ranks, error) {
	r := &ranks{group: g, of: map[*graph.Param]*bucket{}}
	if store.OnDevice() {
		return r, r.openDevice(store, slices.Concat(optimizer.Buckets()...))
	}
	for i, pieces := range optimizer.Buckets() {
		var b *bucket
		if pieces[0].Param.Value.Dtype() == tensor.Float64 {
			b = newBucket(g, i, pieces, (*tensor.Dense).Float64s)
		} else {
			b = newBucket(g, i, pieces, (*tensor.Dense).Float32s)
		}
		for _, p := range pieces {
			if r.of[p.Param] == nil {
				r.of[p.Param] = b
				b.params++
			}
		}
		r.buckets = append(r.buckets, b)
	}
	return r, nil
}

// newBucket returns bucket number i, with its collective operations.
func newBucket[T distributed.Number](g *distributed.Group, i int, pieces []optim.Piece, elements func(*tensor.Dense) []T) *bucket {
	var gradients, weights []distributed.Piece[T]
	for _, p := range pieces {
		gradients = append(gradients, distributed.Piece[T]{Data: elements(p.Param.Grad)[p.From:p.To], Owner: p.Owner})
		weights = append(weights, distributed.Piece[T]{Data: elements(p.Param.Value)[p.From:p.To], Owner: p.Owner})
	}
	return &bucket{
		reduce: func() *distributed.Pending {
			return distributed.ReduceScatter(g, fmt.Sprintf("gradients, bucket %d", i), gradients)
		},
		spread: func() *distributed.Pending {
			return distributed.AllGather(g, fmt.Sprintf("weights, bucket %d", i), weights)
		},
	}
}

// final tells the bucket of p that p's gradient is final, and starts to reduce the bucket once
// those of all its parameters are. The backward pass finishes the buckets in the same order on
// every rank.
func (r *ranks) final(p *graph.Param) {
	b := r.of[p]
	if b.missing--; b.missing == 0 {
		r.reduced = append(r.reduced, b.reduce())
	}
}

// begin prepares for the gradients of a new step.
func (r *ranks) begin() {
	r.reduced = r.reduced[:0]
	for _, b := range r.buckets {
		b.missing = b.params
	}
}

// wait waits for collective operations and returns the first error. After an error it also
// aborts the communication between GPUs, so that none of them waits forever.
func (r *ranks) wait(all []*distributed.Pending) error {
	for _, p := range all {
		if err := p.Wait(); err != nil {
			r.close()
			return err
		}
	}
	return nil
}

// Indices of the numbers that each rank sends to the others in a step. The experts' counts
// follow.
const (
	saysLoss       = iota // sum of the losses of its micro-batches
	saysSumSquares        // sum of the squares of the gradient entries that it updates
	saysStop              // 1: its context has ended
	saysSignal            // 1: Options.Signal returned true
	saysExperts
)

// exchange waits until the gradients are summed, and sums the other numbers that the ranks
// send each other, in the order of ranks. loss is the sum over this rank's micro-batches; the
// result is the sum over those of all ranks.
func (l *Learner) exchange(ctx context.Context, loss float64) (float64, error) {
	r := l.ranks
	if r.device != nil {
		r.reduced = append(r.reduced, r.buckets[0].reduce())
	}
	if err := r.wait(r.reduced); err != nil {
		return 0, err
	}
	var err error
	own := make([]float64, saysExperts)
	own[saysLoss] = loss
	if own[saysSumSquares], err = l.optimizer.SumSquares(); err != nil {
		return 0, err
	}
	own[saysStop] = oneIf(ctx.Err() != nil)
	own[saysSignal] = oneIf(l.signal != nil && l.signal())
	for _, block := range l.experts {
		for _, n := range block {
			own = append(own, float64(n))
		}
	}
	sums, err := r.sum(own)
	if err != nil {
		return 0, err
	}
	l.stop, l.signalled, r.sumSquares = sums[saysStop] > 0, sums[saysSignal] > 0, sums[saysSumSquares]
	counts := sums[saysExperts:]
	for _, block := range l.experts {
		for i := range block {
			block[i], counts = int(counts[0]), counts[1:]
		}
	}
	return sums[saysLoss], nil
}

func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}

// sum returns the elementwise sum of own over the ranks, added up in the order of ranks.
func (r *ranks) sum(own []float64) ([]float64, error) {
	n := len(own)
	all := make([]float64, n*r.group.Size())
	copy(all[r.group.Rank()*n:], own)
	if err := distributed.AllGather(r.group, "losses and norms", distributed.Split(all, r.group.Size())).Wait(); err != nil {
		return nil, err
	}
	sums := append([]float64(nil), all[:n]...)
	for i, x := range all[n:] {
		sums[i%n] += x
	}
	return sums, nil
}

// update updates the entries that this rank is responsible for and sends them to the other
// ranks.
func (l *Learner) update(gradScale float64) (optim.Stats, error) {
	if l.ranks == nil {
		return l.optimizer.Step(gradScale)
	}
	stats, err := l.optimizer.Update(l.ranks.sumSquares, gradScale)
	if err != nil || !stats.Finite {
		return stats, err
	}
	var spread []*distributed.Pending
	for _, b := range l.ranks.buckets {
		spread = append(spread, b.spread())
	}
	if err := l.ranks.wait(spread); err != nil || l.ranks.device == nil {
		return stats, err
	}
	return stats, l.ranks.device.Refresh()
}

// share returns the first and the number of the step's micro-batches that this rank takes.
func (l *Learner) share() (first, n int) {
	if l.ranks == nil {
		return 0, l.accumulate
	}
	n = l.accumulate / l.ranks.group.Size()
	return l.ranks.group.Rank() * n, n
}

// skip passes over n micro-batches.
func (l *Learner) skip(n int) error {
	if s, ok := l.batches.(Skipper); ok {
		s.Skip(n)
		return nil
	}
	for range n {
		if err := l.batches.Next(l.program.Tokens, l.program.Targets); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf returns the number of ranks in a group, 1 without one. It returns an error if a
// step's micro-batches cannot be shared equally among them.
func sizeOf(g *distributed.Group, accumulate int) (int, error) {
	if g == nil {
		return 1, nil
	}
	if n := g.Size(); accumulate%n != 0 {
		return 0, errors.Errorf("learner: Accumulate: want a multiple of the %d ranks, which share the micro-batches of a step, got %d", n, accumulate)
	}
	return g.Size(), nil
}
