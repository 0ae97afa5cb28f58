package models

import (
	"fmt"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/roofline"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/cli"
)

// presetPrediction is how long a training step of a preset would take.
type presetPrediction struct {
	Name string `json:"name"`
	*roofline.Prediction
}

// runRoofline is -roofline.
func (c *call) runRoofline(out cli.Output) error {
	if err := c.training.check(); err != nil {
		return err
	}
	if err := cli.CheckInt("-seq", c.seq, 0, math.MaxInt32); err != nil {
		return err
	}
	gpu, err := roofline.Find(c.roofline)
	if err != nil {
		return cli.Usagef("-roofline: %v", err)
	}
	presets := c.zoo.Presets()
	if c.preset != "" {
		p, err := c.zoo.Preset(c.preset)
		if err != nil {
			return cli.Usagef("-preset: %v", err)
		}
		presets = append(presets[:0:0], p)
	}
	o := roofline.Options{GPU: gpu, Precision: graph.Precision(c.training.precision), Batch: c.training.batch, Seq: c.seq, Recompute: graph.Recompute(c.training.recompute)}
	var lines []presetPrediction
	for _, p := range presets {
		config := p.Config
		if c.seq > 0 {
			config.Seq = c.seq
		}
		spec, err := config.Resolve()
		if err != nil {
			return errors.Wrap(err, p.Name)
		}
		prediction, err := roofline.Predict(spec, o)
		if err != nil {
			return errors.Wrap(err, p.Name)
		}
		lines = append(lines, presetPrediction{p.Name, prediction})
	}
	switch {
	case c.json:
		return out.PrintJSON(lines)
	case c.preset != "":
		return out.Print(fmt.Sprintf("%s on %s\n\n%s%s", lines[0].Name, lines[0].Summary(), lines[0].Table().Text(), rooflineLegend()))
	}
	return out.Print(summaryTable(lines) + rooflineLegend())
}

// summaryTable has a line a preset.
func summaryTable(lines []presetPrediction) string {
	var names []string
	var predictions []*roofline.Prediction
	for _, l := range lines {
		names, predictions = append(names, l.Name), append(predictions, l.Prediction)
	}
	return roofline.SummaryTable(names, predictions).Text()
}

// rooflineLegend says what the numbers assume.
func rooflineLegend() string {
	return `
A prediction, not a measurement: bytes and FLOPs of what each op asks of the device, divided by the data sheet's rates times these
shares, the longer of both, and 2 us for each launch. device: all launches one after the other; host: to start them, meanwhile.

` + roofline.EfficiencyTable().Text()
}
