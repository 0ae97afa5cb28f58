// Package search finds a model's best peak learning rate by training, with a best rate that lies
// between two worse ones, and says how far the score at it varies with the seed.
package search

import (
	"context"
	"math"

	"github.com/residua-go/residua/experiment/stats"
)

// Rate is rung k of a ladder of rates, four a decade: 0.001 at 0, then 0.0018, 0.0032, 0.0056 and 0.01 at
// 4, and 0.00056 at -1. Neighbours differ by a factor of 1.75 to 1.8.
func Rate(rung int) float64 {
	digits := []float64{1, 1.8, 3.2, 5.6}
	decade := int(math.Floor(float64(rung) / 4))
	return math.Round(digits[rung-4*decade]*10) / math.Pow10(4-decade)
}

// Trial is one training.
type Trial struct {
	Rate  float64
	Seed  uint64
	Score float64 // a loss, the lower the better; NaN: diverged
}

// Train makes the run of a rate and a seed and returns its score, NaN if it diverged. It says done =
// false if the run is not to be made, or not now: then the search ends without it.
type Train func(ctx context.Context, rate float64, seed uint64) (score float64, done bool, err error)

// Options say what is tried. The zero value starts at 0.001, goes eight rungs up or down at most, and
// repeats the best rate with two more seeds.
type Options struct {
	Start int    // rung of the first rate
	Most  int    // rungs from Start, up and down; 0: 8
	Seed  uint64 // of the search
	Seeds int    // at the best rate, Seed and those after it; 0: 3
}

// SeedCount is Seeds, or its default.
func (o Options) SeedCount() int {
	if o.Seeds == 0 {
		return 3
	}
	return o.Seeds
}

// Result is what a search has found, so far or in the end.
type Result struct {
	Trials  []Trial // in the order in which they were made
	Inside  bool    // the rates next to the best one are worse
	Done    bool    // and the best one has all its seeds
	options Options
}

// Best is the rate of the lowest score with the search's seed; false without one.
func (r *Result) Best() (rate float64, found bool) {
	score := math.NaN()
	for _, t := range r.Trials {
		if t.Seed == r.options.Seed && (t.Score < score || !math.IsNaN(t.Score) && math.IsNaN(score)) {
			rate, score, found = t.Rate, t.Score, true
		}
	}
	return rate, found
}

// Scores are those of the best rate, of each seed.
func (r *Result) Scores() []float64 {
	var scores []float64
	if best, found := r.Best(); found {
		for _, t := range r.Trials {
			if t.Rate == best {
				scores = append(scores, t.Score)
			}
		}
	}
	return scores
}

// Mean is the score at the best rate over its seeds.
func (r *Result) Mean() stats.Estimate { return stats.Mean(r.Scores()) }

// BestRate trains until the best rate lies between two worse ones, and then with the other seeds at it.
// A result whose Done is false is what was trained before there was no more to be made.
func BestRate(ctx context.Context, o Options, train Train) (*Result, error) {
	if o.Most == 0 {
		o.Most = 8
	}
	o.Seeds = o.SeedCount()
	r := &Result{options: o}
	for rung, more := o.Start, true; more; rung, more = r.next() {
		if done, err := r.add(ctx, train, Rate(rung), o.Seed); err != nil || !done {
			return r, err
		}
	}
	best, found := r.Best()
	r.Done = found
	for seed := o.Seed + 1; found && seed < o.Seed+uint64(o.Seeds); seed++ {
		if done, err := r.add(ctx, train, best, seed); err != nil || !done {
			r.Done = false
			return r, err
		}
	}
	return r, nil
}

// add makes a trial.
func (r *Result) add(ctx context.Context, train Train, rate float64, seed uint64) (done bool, err error) {
	score, done, err := train(ctx, rate, seed)
	if done && err == nil {
		r.Trials = append(r.Trials, Trial{rate, seed, score})
	}
	return done, err
}

// next is the rung to try: the one below the best if that was not tried, else the one above it. Where
// all rates so far diverged, it is the one below them.
func (r *Result) next() (rung int, more bool) {
	best, found := r.Best()
	for k := -r.options.Most; k <= r.options.Most; k++ {
		at := r.options.Start + k
		if found && Rate(at) != best || !found && !r.tried(at) {
			continue
		}
		for _, neighbour := range []int{at - 1, at + 1} {
			inReach := max(neighbour-r.options.Start, r.options.Start-neighbour) <= r.options.Most
			if !r.tried(neighbour) && inReach && (found || neighbour < at) {
				return neighbour, true
			}
		}
		r.Inside = found && r.tried(at-1) && r.tried(at+1)
		return 0, false
	}
	return 0, false
}

// tried tells whether the search has made the run of a rung.
func (r *Result) tried(rung int) bool {
	for _, t := range r.Trials {
		if t.Rate == Rate(rung) {
			return true
		}
	}
	return false
}
