package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
)

// Defaults of -coordcheck: a rate at which all widths train smoothly without muP too.
const (
	checkSteps = 10
	checkRate  = 1e-3
)

// checkCoordinates is -coordcheck.
func (c *call) checkCoordinates(ctx context.Context, out cli.Output) error {
	chosen, err := findFamilies(c.zoo, c.streams)
	if err != nil {
		return err
	}
	widths, err := c.widthList([]int{1, 2, 4, 8}, 2)
	if err != nil {
		return err
	}
	steps, err := c.stepCount(checkSteps)
	if err != nil {
		return err
	}
	rates, err := c.rateList([]float64{checkRate})
	if err != nil {
		return err
	}
	if len(rates) > 1 || c.seeds < 1 {
		return cli.Usagef("-coordcheck: want one -lr and -seeds >= 1, got %d rates and %d seeds", len(rates), c.seeds)
	}
	var checks []*coordinates
	for _, f := range chosen {
		base, err := f.run(checkTraining, steps, rates[0], c.seed, c.sets)
		if err != nil {
			return err
		}
		corpus, err := loadCorpus(ctx, base)
		if err != nil {
			return cli.Usage(err)
		}
		out.Note(fmt.Sprintf("%s: widths %v under muP and standard, %d steps, %d seeds", f.name, widths, base.TotalSteps(), c.seeds))
		check, err := checkFamily(ctx, f, base, corpus, widths, c.seeds)
		if err != nil {
			return err
		}
		checks = append(checks, check)
	}
	return c.printCoordinates(checks, out)
}

func (c *call) printCoordinates(checks []*coordinates, out cli.Output) error {
	file, err := c.draw("coordcheck.svg", drawing(coordinatePicture(checks)))
	if err != nil {
		return err
	}
	if c.json {
		return out.PrintJSON(checks)
	}
	text := ""
	for _, check := range checks {
		text += check.table() + "\n"
	}
	return out.Print(text + "files:\n  " + file + "\n")
}

// table writes a family's activations and how flat they are.
func (c *coordinates) table() string {
	t := cli.Table{Align: "ll" + strings.Repeat("r", len(c.Widths)+2)}
	head := []string{"", "mean |x|"}
	for _, w := range c.Widths {
		head = append(head, times(w))
	}
	t.Row(append(head, "slope", "slope of the change")...)
	for _, a := range c.Activations {
		row := []string{string(a.Parametrisation), a.Name}
		for _, v := range a.Size {
			row = append(row, v.text("%.3g"))
		}
		t.Row(append(row, a.SizeSlope.text("%+.2f"), a.ChangeSlope.text("%+.2f"))...)
	}
	text := fmt.Sprintf("%s: scales %s; %d steps at %g on one batch, %d seeds\n%s", c.Family, c.Scales, c.Steps, c.Rate, c.Seeds, t.String())
	for _, p := range parametrisations() {
		name, s := c.steepest(p)
		text += fmt.Sprintf("steepest, %s: %s (%s)\n", p, s.text("%+.2f"), name)
	}
	return text
}

// coordinatePicture draws a row of two panels a family: each activation's size against the
// width, under muP and without.
func coordinatePicture(checks []*coordinates) figure.Panels {
	p := figure.Panels{Across: len(parametrisations())}
	for _, check := range checks {
		for _, parametrisation := range parametrisations() {
			chart := figure.Lines{Title: fmt.Sprintf("%s, %s, after %d steps", check.Family, parametrisation, check.Steps),
				XLabel: "width, multiples of the base", YLabel: "mean |activation|", LogX: true, LogY: true}
			for _, w := range checks[0].Widths {
				chart.XTicks = append(chart.XTicks, float64(w))
			}
			for _, a := range check.Activations {
				if a.Parametrisation == parametrisation {
					chart.Series = append(chart.Series, a.line(check.Widths))
				}
			}
			p.Charts = append(p.Charts, chart)
		}
	}
	return p
}

func (a activationSizes) line(widths []int) figure.Series {
	s := figure.Series{Name: a.Name, Marks: true}
	for i, w := range widths {
		s.X, s.Y = append(s.X, float64(w)), append(s.Y, float64(a.Size[i]))
	}
	return s
}
