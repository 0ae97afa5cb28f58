package models

import (
	"cmp"
	"fmt"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/roofline"
	"github.com/residua-go/residua/models"
)

// presetPrediction is the predicted time of a preset's training step.
type presetPrediction struct {
	Name string `json:"name"`
	*roofline.Prediction
}

// runRoofline carries out -roofline.
func (c *call) runRoofline(out commandline.Output) error {
	if err := commandline.CheckDevice(graph.CUDA, c.Precision); err != nil {
		return err
	}
	gpu, err := roofline.Find(c.Roofline)
	if err != nil {
		return commandline.Usagef("-roofline: %v", err)
	}
	presets, err := c.presets()
	if err != nil {
		return err
	}
	o := roofline.Options{GPU: gpu, Precision: c.Precision, Batch: c.Batch, Seq: c.Seq, Recompute: c.Recompute}
	return show(c, out, presets, func(p models.Preset, s models.Spec) (presetPrediction, error) {
		s, err := s.With(func(config *models.Config) { config.Seq = cmp.Or(c.Seq, config.Seq) })
		if err != nil {
			return presetPrediction{}, err
		}
		prediction, err := roofline.Predict(s, o)
		return presetPrediction{p.Name, prediction}, err
	}, c.rooflineTable)
}

// rooflineTable has a line for each preset, or for each op if a single preset was asked for.
func (c *call) rooflineTable(lines []presetPrediction) string {
	if c.Preset != "" {
		return fmt.Sprintf("%s on %s\n\n%s%s", lines[0].Name, lines[0].Summary(), lines[0].Table().Text(), rooflineLegend())
	}
	var names []string
	var predictions []*roofline.Prediction
	for _, l := range lines {
		names, predictions = append(names, l.Name), append(predictions, l.Prediction)
	}
	return roofline.SummaryTable(names, predictions).Text() + rooflineLegend()
}

// rooflineLegend says what the numbers assume.
func rooflineLegend() string {
	return `
A prediction, not a measurement: bytes and FLOPs of what each op asks of the device, divided by the data sheet's rates
times these shares, the longer of both, and 2 us for each launch. device: all launches one after the other; host: to
start them, meanwhile. MFU: the model's FLOPs a second over the GPU's peak.

` + roofline.EfficiencyTable().Text()
}
