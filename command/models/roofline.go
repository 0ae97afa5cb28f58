package models

import (
	"fmt"

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
	if err := cli.CheckDevice(graph.CUDA, c.Precision); err != nil {
		return err
	}
	gpu, err := roofline.Find(c.Roofline)
	if err != nil {
		return cli.Usagef("-roofline: %v", err)
	}
	presets := c.zoo.Presets()
	if c.Preset != "" {
		p, err := c.zoo.Preset(c.Preset)
		if err != nil {
			return cli.Usagef("-preset: %v", err)
		}
		presets = append(presets[:0:0], p)
	}
	o := roofline.Options{GPU: gpu, Precision: c.Precision, Batch: c.Batch, Seq: c.Seq, Recompute: c.Recompute}
	var lines []presetPrediction
	for _, p := range presets {
		config := p.Config
		if c.Seq > 0 {
			config.Seq = c.Seq
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
	case c.JSON:
		return out.PrintJSON(lines)
	case c.Preset != "":
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
A prediction, not a measurement: bytes and FLOPs of what each op asks of the device, divided by the data sheet's rates
times these shares, the longer of both, and 2 us for each launch. device: all launches one after the other; host: to
start them, meanwhile. MFU: the model's FLOPs a second over the GPU's peak.

` + roofline.EfficiencyTable().Text()
}
