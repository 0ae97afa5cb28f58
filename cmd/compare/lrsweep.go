package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
)

// sweepSteps is the default of -steps.
const sweepSteps = 200

// defaultRates lists the default rates, factors of 2 as in Yang et al. 2022, figure 1.
func defaultRates() []float64 {
	var rates []float64
	for power := -12; power <= -5; power++ {
		rates = append(rates, math.Ldexp(1, power))
	}
	return rates
}

// sweep is learning-rate transfer (Yang et al. 2022, Tensor Programs V, arXiv 2203.03466,
// section 3 and figure 1): under muP the best rate of a narrow model is that of a wide one;
// in the standard parametrisation it falls as the width grows.
type sweep struct {
	Family string      `json:"stream"`
	Scales string      `json:"scales"`
	Steps  int         `json:"steps"`
	Tokens int         `json:"tokens"` // of each run
	Guess  float64     `json:"guess"`  // the loss of guessing, log of the vocabulary's size
	Rates  []float64   `json:"lr"`
	Lines  []sweepLine `json:"widths"`
}

// sweepLine is one width under one parametrisation.
type sweepLine struct {
	Parametrisation parametrisation `json:"parametrisation"`
	Width           int             `json:"width"` // multiple of the base
	Parameters      int             `json:"parameters"`
	Losses          []number        `json:"losses"`  // a rate each; null: diverged
	Best            number          `json:"best_lr"` // null: all diverged
}

// sweepRates is -lrsweep.
func (c *call) sweepRates(ctx context.Context, out cli.Output) error {
	chosen, err := findFamilies(c.zoo, c.streams)
	if err != nil {
		return err
	}
	widths, err := c.widthList([]int{1, 2, 4}, 1)
	if err != nil {
		return err
	}
	steps, err := c.stepCount(sweepSteps)
	if err != nil {
		return err
	}
	rates, err := c.rateList(defaultRates())
	if err != nil {
		return err
	}
	var sweeps []*sweep
	for _, f := range chosen {
		s, err := c.sweepFamily(ctx, f, widths, steps, rates, out)
		if err != nil {
			return err
		}
		sweeps = append(sweeps, s)
	}
	file, err := c.draw("lrsweep.svg", drawing(sweepPicture(sweeps)))
	if err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(sweeps)
	}
	text := ""
	for _, s := range sweeps {
		text += s.table() + "\n"
	}
	return out.Print(text + "files:\n  " + file + "\n")
}

func (c *call) sweepFamily(ctx context.Context, f family, widths []int, steps int, rates []float64, out cli.Output) (*sweep, error) {
	base, err := f.run(sweepTraining, steps, rates[0], c.seed, c.sets)
	if err != nil {
		return nil, err
	}
	corpus, err := loadCorpus(ctx, base)
	if err != nil {
		return nil, cli.Usage(err)
	}
	s := &sweep{Family: f.name, Scales: f.Scales, Steps: base.TotalSteps(), Tokens: base.TotalSteps() * base.StepTokens(),
		Guess: math.Log(float64(base.Model.Vocab)), Rates: rates}
	for _, p := range parametrisations() {
		for _, m := range widths {
			wide, err := f.at(base, m, p)
			if err != nil {
				return nil, err
			}
			line, err := sweepWidth(ctx, wide, corpus, rates)
			if err != nil {
				return nil, errors.Wrapf(err, "%s, %s, width x%d", f.name, p, m)
			}
			line.Parametrisation, line.Width = p, m
			out.Note(fmt.Sprintf("%s, %s, width %s: best rate %s", f.name, p, times(m), line.Best.text("%g")))
			s.Lines = append(s.Lines, line)
		}
	}
	return s, nil
}

// sweepWidth trains a model at each rate.
func sweepWidth(ctx context.Context, t trial, corpus *data.Corpus, rates []float64) (sweepLine, error) {
	line := sweepLine{Parameters: t.model.Cost().Parameters}
	for _, rate := range rates {
		run := *t.Run
		run.Train.LR, run.Train.MinLR = rate, rate/10
		loss, err := finalLoss(ctx, trial{&run, t.model}, corpus)
		if err != nil {
			return line, errors.Wrapf(err, "rate %g", rate)
		}
		line.Losses = append(line.Losses, number(loss))
	}
	line.Best = best(rates, line.Losses)
	return line, nil
}

// finalLoss trains a model and returns its mean training loss over the last fifth of the
// steps; each step's batch is new to it, or nearly. It is not finite when a loss or a
// gradient was not.
func finalLoss(ctx context.Context, t trial, corpus *data.Corpus) (float64, error) {
	s, err := newSmall(t, corpus, nil)
	if err != nil {
		return 0, err
	}
	defer s.close()
	sum, n, total := 0.0, 0, t.TotalSteps()
	for step := range total {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		loss, err := s.forward()
		if err != nil || !number(loss).finite() {
			return loss, err
		}
		if step >= total-max(1, total/5) {
			sum, n = sum+loss, n+1
		}
		if finite, err := s.update(); err != nil || !finite {
			return math.NaN(), err
		}
	}
	return sum / float64(n), nil
}

// best is the rate of the lowest loss, NaN if there is none.
func best(rates []float64, losses []number) number {
	at := -1
	for i, loss := range losses {
		if loss.finite() && (at < 0 || loss < losses[at]) {
			at = i
		}
	}
	if at < 0 {
		return number(math.NaN())
	}
	return number(rates[at])
}

// table writes a row a rate, a column a width.
func (s *sweep) table() string {
	t := cli.Table{Align: strings.Repeat("r", len(s.Lines)+1)}
	head, parameters, bests := []string{"lr"}, []string{"parameters"}, []string{"best lr"}
	for _, l := range s.Lines {
		head = append(head, string(l.Parametrisation)+" "+times(l.Width))
		parameters = append(parameters, fmt.Sprintf("%.2fM", float64(l.Parameters)/1e6))
		bests = append(bests, l.Best.text("%.3g"))
	}
	t.Row(head...)
	t.Row(parameters...)
	for i, rate := range s.Rates {
		row := []string{fmt.Sprintf("%.3g", rate)}
		for _, l := range s.Lines {
			row = append(row, l.Losses[i].text("%.4f"))
		}
		t.Row(row...)
	}
	t.Row(bests...)
	return fmt.Sprintf("%s: scales %s; training loss at the end of %d steps, %d tokens\n%s", s.Family, s.Scales, s.Steps, s.Tokens, t.String())
}

// sweepPicture draws a row of two panels a family: the loss against the rate, a line a
// width, under muP and without. Losses above that of guessing are left out.
func sweepPicture(sweeps []*sweep) figure.Panels {
	p := figure.Panels{Across: len(parametrisations())}
	for _, s := range sweeps {
		for _, parametrisation := range parametrisations() {
			chart := figure.Lines{Title: fmt.Sprintf("%s, %s", s.Family, parametrisation),
				XLabel: "peak learning rate", YLabel: "training loss at the end (nats a token)", LogX: true}
			for _, l := range s.Lines {
				if l.Parametrisation == parametrisation {
					chart.Series = append(chart.Series, l.series(s.Rates, s.Guess))
				}
			}
			p.Charts = append(p.Charts, chart)
		}
	}
	return p
}

func (l sweepLine) series(rates []float64, guess float64) figure.Series {
	line := figure.Series{Name: "width " + times(l.Width), Marks: true}
	for i, rate := range rates {
		if float64(l.Losses[i]) <= guess {
			line.X, line.Y = append(line.X, rate), append(line.Y, float64(l.Losses[i]))
		}
	}
	return line
}
