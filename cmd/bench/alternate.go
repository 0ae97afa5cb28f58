package main

import (
	"context"
	"sort"
)

// schedule says how long to measure.
type schedule struct {
	rounds, steps, warmUp int
}

// alternate lets processes take turns: rounds times over, each makes its steps. between
// is called before each round.
func alternate(ctx context.Context, s schedule, between func(round int), processes ...*process) error {
	for round := range s.rounds {
		between(round)
		for _, p := range processes {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := p.run(s.steps); err != nil {
				return err
			}
		}
	}
	return nil
}

// median of times; 0 for none.
func median(seconds []float64) float64 {
	n := len(seconds)
	if n == 0 {
		return 0
	}
	sorted := append([]float64(nil), seconds...)
	sort.Float64s(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
