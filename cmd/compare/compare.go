package main

import (
	"context"

	"github.com/residua-go/residua/internal/cli"
)

// standing is how a config did: its best run, and all of them.
type standing struct {
	Model      string     `json:"model"`
	Config     string     `json:"config"`
	Parameters int        `json:"parameters"`
	FLOPs      int        `json:"train_flops"` // a token, forward and backward
	Best       *outcome   `json:"best"`        // the run of the lowest validation loss
	Runs       []*outcome `json:"runs"`        // a rate each
}

// compare is -config.
func (c *call) compare(ctx context.Context, out cli.Output) error {
	rates, err := c.rateList(nil)
	if err != nil {
		return err
	}
	if err := c.checkAxis(); err != nil {
		return err
	}
	var b *budget
	if c.budget != "" {
		parsed, err := parseBudget(c.budget)
		if err != nil {
			return err
		}
		b = &parsed
	}
	entries, err := contest{c.zoo, c.out, c.seed, c.sets}.enter(ctx, entrants(c.configs), b, rates)
	if err != nil {
		return err
	}
	standings, err := hold(ctx, entries, out)
	if err != nil {
		return err
	}
	return c.show(standings, out)
}

func (c *call) checkAxis() error {
	if c.axis != axisTokens && c.axis != axisFLOPs {
		return cli.Usagef("-x: want %s or %s, got %q", axisTokens, axisFLOPs, c.axis)
	}
	return nil
}

// show draws all runs and prints them.
func (c *call) show(standings []standing, out cli.Output) error {
	file, err := c.draw("compare.svg", drawing(racePicture("", racers(standings), c.axis)))
	if err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(standings)
	}
	return out.Print(standingsTable(standings) + "files:\n  " + file + "\n")
}

// hold trains all contestants.
func hold(ctx context.Context, entries []contestant, out cli.Output) ([]standing, error) {
	var all []standing
	for _, e := range entries {
		cost := e.runs[0].Spec().Cost()
		s := standing{Model: e.name, Config: e.file, Parameters: cost.Parameters, FLOPs: cost.TrainFLOPs()}
		for _, run := range e.runs {
			done, err := finish(ctx, run, out)
			if err != nil {
				return nil, err
			}
			s.Runs = append(s.Runs, done)
			if s.Best == nil || done.better(s.Best) {
				s.Best = done
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// better tells whether a run ended at a lower loss; one that diverged never did.
func (o *outcome) better(than *outcome) bool {
	return o.Loss.finite() && (!than.Loss.finite() || o.Loss < than.Loss)
}
