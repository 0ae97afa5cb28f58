package learner

import (
	"context"
	"fmt"
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/distributed"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/optim"
)

// Skipper is a Batches that can pass over the micro-batches of other ranks. A Learner fills those
// of other Batches and forgets them.
type Skipper interface {
	// Skip moves on by n micro-batches.
	Skip(n int)
}

// ranks is what a Learner of a group does with the others. Each rank computes the gradient of its
// micro-batches; every sum of gradients goes to the rank that updates the parameters' entries, and
// the updated entries go to all.
type ranks struct {
	group   *distributed.Group
	buckets []*bucket
	of      map[*graph.Param]*bucket
	reduced []*distributed.Pending // of this step's gradients
	device  *graph.DeviceRanks     // connects the ranks' GPUs; nil: on the CPU

	sumSquares float64 // of the gradients, over all ranks
}

// bucket is some parameters whose gradients are reduced together.
type bucket struct {
	params  int
	missing int                         // parameters whose gradients are not final yet
	reduce  func() *distributed.Pending // adds up the gradients
	spread  func() *distributed.Pending // sends the new weights to all ranks
}

// newRanks prepares the collectives of a program's parameters.
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

// newBucket makes the collectives of bucket number i.
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

// final starts to reduce a bucket when the gradients of all its parameters are final. The backward
// pass of every rank finishes the buckets in the same order.
func (r *ranks) final(p *graph.Param) {
	b := r.of[p]
	if b.missing--; b.missing == 0 {
		r.reduced = append(r.reduced, b.reduce())
	}
}

// begin expects the gradients of a step.
func (r *ranks) begin() {
	r.reduced = r.reduced[:0]
	for _, b := range r.buckets {
		b.missing = b.params
	}
}

// wait returns when collectives are done, with the first error, after which GPUs wait for no other.
func (r *ranks) wait(all []*distributed.Pending) error {
	for _, p := range all {
		if err := p.Wait(); err != nil {
			r.close()
			return err
		}
	}
	return nil
}

// Numbers that each rank tells the others in a step. The experts' counts follow.
const (
	saysLoss       = iota // sum over its micro-batches
	saysSumSquares        // of its entries' gradients
	saysStop              // 1: its context has ended
	saysSignal            // 1: Options.Signal returned true
	saysExperts
)

// exchange waits for the sums of gradients, and adds up what the ranks tell each other, in the
// order of ranks. loss is the sum over this rank's micro-batches; it returns the sum over all
// ranks'.
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

// sum adds up numbers over the ranks, in the order of ranks.
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

// update changes the entries of this rank and sends them to the others.
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

// sizeOf returns the number of ranks of a group, 1 without one, if a step's micro-batches can be
// shared among them.
func sizeOf(g *distributed.Group, accumulate int) (int, error) {
	if g == nil {
		return 1, nil
	}
	if n := g.Size(); accumulate%n != 0 {
		return 0, errors.Errorf("learner: Accumulate: want a multiple of the %d ranks, which share the micro-batches of a step, got %d", n, accumulate)
	}
	return g.Size(), nil
}
