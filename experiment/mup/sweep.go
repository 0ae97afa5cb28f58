package mup

import (
	"context"
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/trainer"
)

// Sweep is the transfer of learning rates (Yang et al. 2022, section 3 and figure 1): under muP the
// best rate of a narrow model is that of a wide one; in the standard parametrisation it falls as the
// width grows.
type Sweep struct {
	Scaling string       `json:"stream"`
	Scales  string       `json:"scales"` // what grows, in words
	Steps   int          `json:"steps"`
	Tokens  int          `json:"tokens"` // of each run
	Guess   float64      `json:"guess"`  // the loss of guessing, log of the vocabulary's size
	Rates   []float64    `json:"lr"`
	Widths  []SweepWidth `json:"widths"`
}

// SweepWidth is one width under one parametrisation.
type SweepWidth struct {
	Parametrisation Parametrisation  `json:"parametrisation"`
	Width           int              `json:"width"` // multiple of the base
	Parameters      int              `json:"parameters"`
	Losses          []trainer.Number `json:"losses"`  // of each rate; null: diverged
	Best            trainer.Number   `json:"best_lr"` // null: all diverged
}

// SweepOptions say how a sweep trains. The zero value has all defaults.
type SweepOptions struct {
	Widths []int            // multiples of the base, ascending; none: 1, 2, 4
	Steps  int              // 0: 200
	Rates  []float64        // peak learning rates; none: 2^-12, 2^-11 ... 2^-5, as in Yang et al. 2022, figure 1
	Seed   uint64           // of weights and batches
	Set    []string         // overrides keys of the run config, as in data.source=files
	Done   func(SweepWidth) // is told each width as soon as it is trained; nil: nobody is
}

func (o SweepOptions) defaults() SweepOptions {
	if len(o.Widths) == 0 {
		o.Widths = []int{1, 2, 4}
	}
	if o.Steps == 0 {
		o.Steps = 200
	}
	if len(o.Rates) == 0 {
		for power := -12; power <= -5; power++ {
			o.Rates = append(o.Rates, math.Ldexp(1, power))
		}
	}
	if o.Done == nil {
		o.Done = func(SweepWidth) {}
	}
	return o
}

const sweepTraining = "{batch: 8, steps: %d, lr: %g, schedule: warmup-cosine, warmup: 0.1}"

// SweepRates trains a scaling's models at each rate, under muP and in the standard parametrisation.
// What is wrong with the options or the text is a *experiment.SetupError.
func SweepRates(ctx context.Context, s Scaling, o SweepOptions) (*Sweep, error) {
	o = o.defaults()
	if err := checkTraining(o.Widths, 1, o.Steps); err != nil {
		return nil, err
	}
	if !(slices.Min(o.Rates) > 0) {
		return nil, experiment.Setupf("want rates above 0, got %v", o.Rates)
	}
	base, err := s.base(sweepTraining, o.Steps, o.Rates[0], o.Seed, o.Set)
	if err != nil {
		return nil, err
	}
	text, err := loadText(ctx, base)
	if err != nil {
		return nil, err
	}
	result := &Sweep{Scaling: s.Name, Scales: s.Scales, Steps: base.TotalSteps(), Tokens: base.TotalSteps() * base.StepTokens(),
		Guess: math.Log(float64(base.Model.Vocab)), Rates: o.Rates}
	for _, p := range parametrisations() {
		for _, m := range o.Widths {
			w, err := sweepWidth(ctx, s, base, text, p, m, o.Rates)
			if err != nil {
				return nil, errors.WithMessagef(err, "%s, %s, width x%d", s.Name, p, m)
			}
			o.Done(w)
			result.Widths = append(result.Widths, w)
		}
	}
	return result, nil
}

// sweepWidth trains a width's model at each rate.
func sweepWidth(ctx context.Context, s Scaling, base *config.Run, text *data.Corpus, p Parametrisation, width int, rates []float64) (SweepWidth, error) {
	w := SweepWidth{Parametrisation: p, Width: width}
	wide, err := s.at(base, width, p)
	if err != nil {
		return w, err
	}
	w.Parameters = wide.model.Cost().Parameters
	for _, rate := range rates {
		run := *base
		run.Train.LR, run.Train.MinLR = rate, rate/10
		loss, err := finalLoss(ctx, trial{&run, wide.model}, text)
		if err != nil {
			return w, errors.Wrapf(err, "rate %g", rate)
		}
		w.Losses = append(w.Losses, trainer.Number(loss))
	}
	w.Best = best(rates, w.Losses)
	return w, nil
}

// finalLoss trains a model and returns its mean training loss over the last fifth of the steps; each
// step's batch is new to it, or nearly. It is NaN when a loss or a gradient was not finite.
func finalLoss(ctx context.Context, t trial, text *data.Corpus) (float64, error) {
	l, err := newLearner(t, text, false, nil)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	sum, n, total := 0.0, 0, t.TotalSteps()
	for step := range total {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		s, err := l.Step()
		if err != nil || !s.Finite {
			return math.NaN(), err
		}
		if step >= total-max(1, total/5) {
			sum, n = sum+s.Loss, n+1
		}
	}
	return sum / float64(n), nil
}

// best is the rate of the lowest loss, NaN if there is none.
func best(rates []float64, losses []trainer.Number) trainer.Number {
	at := -1
	for i, loss := range losses {
		if loss.Finite() && (at < 0 || loss < losses[at]) {
			at = i
		}
	}
	if at < 0 {
		return trainer.Number(math.NaN())
	}
	return trainer.Number(rates[at])
}
