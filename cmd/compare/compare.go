package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/residua-go/residua/cmd/internal/cli"
	"github.com/residua-go/residua/cmd/internal/lines"
	"github.com/residua-go/residua/trainer"
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
	if c.axis != axisTokens && c.axis != axisFLOPs {
		return cli.Usagef("-x: want %s or %s, got %q", axisTokens, axisFLOPs, c.axis)
	}
	var b *budget
	if c.budget != "" {
		parsed, err := parseBudget(c.budget)
		if err != nil {
			return err
		}
		b = &parsed
	}
	entries, err := contest{c.out, c.seed, c.sets}.enter(fileList(c.configs), b, rates)
	if err != nil {
		return err
	}
	standings, err := hold(ctx, entries, out)
	if err != nil {
		return err
	}
	file, err := c.draw("compare.svg", racePicture(standings, c.axis))
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
		cost := e.runs[0].Model.Cost()
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

// standingsTable lines the models up, as given.
func standingsTable(all []standing) string {
	t := cli.Table{Align: "lrrrrrrrr"}
	t.Row("model", "parameters", "MFLOP a token", "tokens", "best lr", "loss", "bits per byte", "tokens/s", "memory")
	for _, s := range all {
		b := s.Best
		t.Row(s.Model, fmt.Sprintf("%.2fM", float64(s.Parameters)/1e6), fmt.Sprintf("%.1f", float64(s.FLOPs)/1e6), fmt.Sprint(b.Tokens), fmt.Sprintf("%g", b.Rate),
			b.Loss.text("%.4f"), b.Bits.text("%.4f"), fmt.Sprintf("%.0f", b.TokensPS), fmt.Sprintf("%d MB", b.Memory>>20))
	}
	return t.String()
}

// racePicture draws each model's training loss at its best rate.
func racePicture(all []standing, axis string) lines.Picture {
	p := lines.Picture{X: lines.Axis{Label: "million tokens"}, Y: lines.Axis{Label: "training loss (nats a token)"}}
	if axis == axisFLOPs {
		p.X.Label = "TFLOP"
	}
	panel := lines.Panel{}
	for _, s := range all {
		unit := 1e-6
		if axis == axisFLOPs {
			unit = float64(s.FLOPs) / 1e12
		}
		panel.Series = append(panel.Series, lines.Series{Name: filepath.Base(s.Model), Points: lossCurve(s.Best.curve, unit)})
	}
	p.Panels = []lines.Panel{panel}
	return p
}

// curvePoints is the number of points that a training curve is averaged to.
const curvePoints = 80

// lossCurve returns the training loss, averaged over groups of steps, against tokens times
// unit.
func lossCurve(steps []trainer.Metrics, unit float64) []lines.Point {
	var points []lines.Point
	group := max(1, len(steps)/curvePoints)
	for first := 0; first < len(steps); first += group {
		members := steps[first:min(first+group, len(steps))]
		sum, n := 0.0, 0
		for _, m := range members {
			if loss := float64(m.Loss); !m.Skipped && !math.IsNaN(loss) {
				sum, n = sum+loss, n+1
			}
		}
		if n > 0 {
			points = append(points, lines.Point{X: unit * float64(members[len(members)-1].Tokens), Y: sum / float64(n)})
		}
	}
	return points
}
