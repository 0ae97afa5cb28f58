package main

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

// contest is models that train on the same text for the same budget.
type contest struct {
	zoo  models.Zoo
	out  string
	seed uint64
	sets []string
}

// entrant is a config's file, and what overrides its keys.
type entrant struct {
	file string
	sets []string
}

// contestant is a config at each of its rates.
type contestant struct {
	name string
	file string
	runs []*config.Run // a rate each
}

// enter loads configs. Each gets a run a rate, its own rate where none is given; without a
// budget that of the first config's own tokens.
func (c contest) enter(ctx context.Context, entrants []entrant, b *budget, rates []float64) ([]contestant, error) {
	var all []contestant
	names := map[string]string{}
	var first *config.Run
	for _, e := range entrants {
		file := e.file
		load, err := c.loader(ctx, e)
		if err != nil {
			return nil, err
		}
		own, err := load()
		if err != nil {
			return nil, err
		}
		if other, taken := names[own.Name]; taken {
			return nil, cli.Usagef("-config: want a name for each, got %q for %s and %s: set name in one", own.Name, other, file)
		}
		names[own.Name] = file
		if b == nil {
			b = &budget{axisTokens, float64(own.TotalSteps()) * float64(own.StepTokens())}
		}
		if first == nil {
			first = own
		}
		if !reflect.DeepEqual(first.Data, own.Data) {
			return nil, cli.Usagef("-config: want the same data for all, got another data section in %s than in %s: set it with -set", file, entrants[0].file)
		}
		entry, err := c.atRates(file, load, own, *b, rates)
		if err != nil {
			return nil, err
		}
		all = append(all, entry)
	}
	return all, nil
}

func (c contest) atRates(file string, load loader, own *config.Run, b budget, rates []float64) (contestant, error) {
	entry := contestant{name: own.Name, file: file}
	if len(rates) == 0 {
		rates = []float64{own.Train.LR}
	}
	for _, rate := range rates {
		run, err := c.runAt(load, own, b.tokens(own), rate)
		if err != nil {
			return contestant{}, err
		}
		entry.runs = append(entry.runs, run)
	}
	return entry, nil
}

// loader makes a run of a config that has been read, with further overrides.
type loader func(more ...string) (*config.Run, error)

// loader reads a config once, so that it may be a stream; all share the contest's overrides.
func (c contest) loader(ctx context.Context, e entrant) (loader, error) {
	name, text, err := config.Read(ctx, e.file)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return func(more ...string) (*config.Run, error) {
		sets := slices.Concat([]string{fmt.Sprintf("seed=%d", c.seed)}, e.sets, c.sets, more)
		run, _, err := config.Parse(c.zoo, name, text, sets)
		return run, cli.Usage(err)
	}, nil
}

// runAt is a config's run of some tokens at a rate. It evaluates once, at the end, and its
// folder's name tells what it is.
func (c contest) runAt(load loader, own *config.Run, tokens int64, rate float64) (*config.Run, error) {
	step := int64(own.StepTokens())
	steps := (tokens + step - 1) / step
	folder := fmt.Sprintf("%s-tokens%d-lr%g-seed%d", own.Name, steps*step, rate, own.Seed)
	return load(fmt.Sprintf("train.steps=%d", steps), "train.tokens=0", fmt.Sprintf("train.lr=%g", rate),
		fmt.Sprintf("train.eval_every=%d", steps), "train.keep=1", "out="+filepath.ToSlash(filepath.Join(c.out, folder)))
}

// entrants are the files of a comma-separated list.
func entrants(list string) []entrant {
	var all []entrant
	for _, f := range strings.Split(list, ",") {
		if f = strings.TrimSpace(f); f != "" {
			all = append(all, entrant{file: f})
		}
	}
	return all
}
