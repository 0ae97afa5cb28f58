package main

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/figure"
)

// Spread is a kind of experiment: it trains each series with all seeds and reports how far apart
// the losses of the seeds are.
type Spread struct {
	experiment.Plain
	Unit string `yaml:"unit" choices:"nats, bits" help:"nats a token, or bits a byte"`
}

// Name returns the kind that an experiment's config names.
func (Spread) Name() string { return "spread" }

// Report returns a row for each series: the lowest and the highest loss, and their difference.
func (s Spread) Report(r *experiment.Results) experiment.Report {
	t := figure.Table{Title: "Losses over seeds (" + s.Unit + ")", Align: "lrrr", Header: []string{"", "lowest", "highest", "apart"}}
	bars := figure.Bars{YLabel: "highest minus lowest (" + s.Unit + ")", Format: "%.4f"}
	for _, c := range r.Cells() {
		low, high := math.Inf(1), math.Inf(-1)
		for _, run := range c.Runs() {
			loss := float64(run.Loss)
			if s.Unit == "bits" {
				loss = float64(run.Bits)
			}
			low, high = min(low, loss), max(high, loss)
		}
		t.Row(c.Name(), fmt.Sprintf("%.4f", low), fmt.Sprintf("%.4f", high), fmt.Sprintf("%.4f", high-low))
		bars.Labels, bars.Values = append(bars.Labels, c.Name()), append(bars.Values, high-low)
	}
	return experiment.Report{Tables: []figure.Table{r.Table("Means over seeds"), t}, Picture: bars}
}
