package bench

import (
	"context"
	"math"
	"slices"

	"github.com/residua-go/residua/internal/stats"
)

// turns lets workers take turns: in each round each worker runs its steps. A worker that fails is
// left out from then on. The warm-up before counts as a round in the share of the work that is
// done.
func (b *Bench) turns(ctx context.Context, what string, steps int, workers []*worker, share func(float64)) error {
	share(1 / float64(b.o.Rounds+1))
	for round := range b.o.Rounds {
		b.report.Machine.measure(b.pool)
		b.note("%s: round %d of %d", what, round+1, b.o.Rounds)
		for i, w := range workers {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !w.ok() {
				continue
			}
			if err := w.run(steps); err != nil {
				w.failed = true
				if err := b.failed(ctx, w.name, err); err != nil {
					return err
				}
			}
			share((float64(round+1) + float64(i+1)/float64(len(workers))) / float64(b.o.Rounds+1))
		}
	}
	return nil
}

// fastestTurn returns the smallest of the turns' median times: other programs are judged by their
// best turn.
func (w *worker) fastestTurn(seconds []float64) float64 {
	best := math.Inf(1)
	for turn := range slices.Chunk(seconds, max(1, w.turn)) {
		best = min(best, stats.Median(turn))
	}
	return best
}
