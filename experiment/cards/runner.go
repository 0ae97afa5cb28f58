package cards

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/experiment/compare"
	"github.com/residua-go/residua/experiment/search"
)

// runner makes the runs of cards.
type runner struct {
	options Options
	log     experiment.Log
	began   time.Time
	place   string // of the card among those to be trained
}

// describe is a card before its runs.
func (r *runner) describe(ctx context.Context, c Card) (*measured, error) {
	run, err := r.run(ctx, c, search.Rate(0), r.options.Seed)
	if err != nil {
		return nil, err
	}
	cost := run.Spec().Cost()
	return &measured{Card: c, parameters: cost.Parameters, flops: cost.TrainFLOPs(), entries: run.Spec().StreamSize(),
		speeds: c.speedsOf(r.options.Zoo, r.options.Speeds)}, nil
}

// run is that of a card at a rate, with as many validation tokens as it trains on, at most the config's own number.
func (r *runner) run(ctx context.Context, c Card, rate float64, seed uint64) (*config.Run, error) {
	o := r.options
	plan := compare.Plan{Zoo: o.Zoo, Out: o.Out, Seed: seed, Rates: []float64{rate}, Budget: compare.Budget{Unit: compare.Tokens, Amount: float64(o.Tokens)}}
	plan.Set = append([]string{fmt.Sprintf("train.eval_tokens=%d", min(o.Tokens, int64(config.Defaults().Train.EvalTokens)))}, o.Set...)
	trainings, err := plan.Trainings(ctx, []compare.Config{{File: Baseline, Set: append([]string{"name=" + c.Name, "model.preset=" + c.Preset}, c.Set...)}})
	if err != nil {
		return nil, err
	}
	return trainings[0].Runs[0], nil
}

// search looks for a card's best rate. Without train it goes as far as runs are complete in their folders.
func (r *runner) search(ctx context.Context, m *measured, train bool) error {
	byRate := map[float64]*experiment.Result{}
	found, err := search.BestRate(ctx, r.options.Search, func(ctx context.Context, rate float64, seed uint64) (float64, bool, error) {
		result, err := r.result(ctx, m.Card, rate, seed, train)
		if result == nil || err != nil {
			return 0, false, err
		}
		if seed == r.options.Seed {
			byRate[rate] = result
		}
		if !result.Bits.Finite() {
			return math.NaN(), true, nil
		}
		return float64(result.Bits), true, nil
	})
	if err != nil {
		return err
	}
	m.found, m.best = found, nil
	if best, ok := found.Best(); ok {
		m.best = byRate[best]
	}
	return nil
}

// result is that of a run, nil if it is not complete and not to be trained now.
func (r *runner) result(ctx context.Context, c Card, rate float64, seed uint64, train bool) (*experiment.Result, error) {
	run, err := r.run(ctx, c, rate, seed)
	if err != nil {
		return nil, err
	}
	late := r.options.StopAfter > 0 && time.Since(r.began) > r.options.StopAfter
	complete, err := experiment.IsComplete(run)
	if err != nil || !complete && (late || !train) {
		return nil, err
	}
	log := r.log
	if complete {
		log = experiment.Log{}
	} else if log.Note != nil {
		log.Note = func(line string) { r.log.Note(fmt.Sprintf("%s, %s, seed %d", r.place, line, seed)) }
	}
	return experiment.Complete(ctx, run, log)
}
