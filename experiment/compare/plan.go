package compare

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/models"
)

// Plan says how models are trained: on the same text, with the same batches, for the same budget.
type Plan struct {
	Zoo    models.Zoo // the designs and presets that configs may name
	Out    string     // the folder in which each run has a folder
	Seed   uint64     // of weights and batches
	Set    []string   // overrides keys of every config, as in data.source=files
	Budget Budget     // zero: the tokens of the first config's own run
	Rates  []float64  // peak learning rates; none: each config's own
}

// Config is a model's run config.
type Config struct {
	File string   // or the name of a built-in one
	Set  []string // overrides keys of this config
}

// Training is a model's runs that are to be made.
type Training struct {
	Name   string
	Config string        // the config's file
	Runs   []*config.Run // one for each rate
}

// Trainings reads the configs and returns their runs at the plan's budget and rates. An error is a
// *experiment.SetupError.
func (p Plan) Trainings(ctx context.Context, configs []Config) ([]Training, error) {
	var all []Training
	var first *config.Run
	files := map[string]string{} // of names
	for _, c := range configs {
		parse, err := p.parser(ctx, c)
		if err != nil {
			return nil, err
		}
		own, err := parse()
		if err != nil {
			return nil, err
		}
		if other, taken := files[own.Name]; taken {
			return nil, experiment.Setupf("want a name for each config, got %q for %s and %s: set name in one", own.Name, other, c.File)
		}
		files[own.Name] = c.File
		if first == nil {
			first = own
		}
		if !reflect.DeepEqual(first.Data, own.Data) {
			return nil, experiment.Setupf("want the same data for all configs, got another data section in %s than in %s: override it for all, as in data.source=files", c.File, configs[0].File)
		}
		training, err := p.atRates(parse, own, first)
		if err != nil {
			return nil, err
		}
		training.Config = c.File
		all = append(all, training)
	}
	return all, nil
}

// atRates are the runs of a config at each rate. first is the first config's own run.
func (p Plan) atRates(parse parser, own, first *config.Run) (Training, error) {
	t := Training{Name: own.Name}
	budget, rates := p.Budget, p.Rates
	if budget == (Budget{}) {
		budget = Budget{Tokens, float64(first.TotalSteps()) * float64(first.StepTokens())}
	}
	if len(rates) == 0 {
		rates = []float64{own.Train.LR}
	}
	for _, rate := range rates {
		steps, err := budget.steps(own)
		if err != nil {
			return t, err
		}
		run, err := p.runAt(parse, own, steps, rate)
		if err != nil {
			return t, err
		}
		t.Runs = append(t.Runs, run)
	}
	return t, nil
}

// runAt is a config's run of some steps at a rate. It evaluates once, at the end, and its folder's
// name tells what it is.
func (p Plan) runAt(parse parser, own *config.Run, steps int, rate float64) (*config.Run, error) {
	folder := fmt.Sprintf("%s-tokens%d-lr%g-seed%d", own.Name, int64(steps)*int64(own.StepTokens()), rate, own.Seed)
	return parse(fmt.Sprintf("train.steps=%d", steps), "train.tokens=0", fmt.Sprintf("train.lr=%g", rate),
		fmt.Sprintf("train.eval_every=%d", steps), "train.keep=1", "out="+filepath.ToSlash(filepath.Join(p.Out, folder)))
}

// parser makes a run of a config that has been read, with further overrides.
type parser func(more ...string) (*config.Run, error)

// parser reads a config once, so that it may be a pipe.
func (p Plan) parser(ctx context.Context, c Config) (parser, error) {
	name, text, err := config.Read(ctx, c.File)
	if err != nil {
		return nil, experiment.Setup(err)
	}
	return func(more ...string) (*config.Run, error) {
		sets := slices.Concat([]string{fmt.Sprintf("seed=%d", p.Seed)}, c.Set, p.Set, more)
		run, _, err := config.Parse(p.Zoo, name, text, sets)
		return run, experiment.Setup(err)
	}, nil
}
