package mup

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/learner"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/trainer"
)

// logitsName names the logits among the activations.
const logitsName = "logits"

// Coordinates is the coordinate check of muP (Yang et al. 2022, appendix D.1): models of growing width
// train for a few steps on one batch, and the mean size of each activation's coordinates is compared
// with the width. In a correct muP every activation, and what training changed of it, stays of one
// size as the width grows; in the standard parametrisation some blow up.
type Coordinates struct {
	Scaling     string       `json:"stream"`
	Scales      string       `json:"scales"` // what grows, in words
	Widths      []int        `json:"widths"` // multiples of the base
	Steps       int          `json:"steps"`
	Rate        float64      `json:"lr"`
	Seeds       int          `json:"seeds"`
	Activations []Activation `json:"activations"`
}

// Activation is the size of one activation under one parametrisation, a value for each width: of x_t
// after t steps and of what they changed, x_t - x_0.
type Activation struct {
	Parametrisation Parametrisation  `json:"parametrisation"`
	Name            string           `json:"name"`
	Size            []trainer.Number `json:"mean_abs"`        // mean |x_t|
	Change          []trainer.Number `json:"mean_abs_change"` // mean |x_t - x_0|
	SizeSlope       trainer.Number   `json:"slope"`           // of log mean |x_t| against log width
	ChangeSlope     trainer.Number   `json:"change_slope"`    // of log mean |x_t - x_0|
}

// CoordinateOptions say how a coordinate check trains. The zero value has all defaults.
type CoordinateOptions struct {
	Widths []int    // multiples of the base, two or more, ascending; none: 1, 2, 4, 8
	Steps  int      // 0: 10
	Rate   float64  // learning rate; 0: 1e-3, at which all widths train smoothly without muP, too
	Seeds  int      // models whose sizes are averaged, of the seeds from Seed on; 0: 3
	Seed   uint64   // of weights and the batch
	Set    []string // overrides keys of the run config, as in data.source=files

	Done func(p Parametrisation, width int) // is told each width as soon as it is measured; nil: nobody is
}

func (o CoordinateOptions) defaults() CoordinateOptions {
	if len(o.Widths) == 0 {
		o.Widths = []int{1, 2, 4, 8}
	}
	if o.Steps == 0 {
		o.Steps = 10
	}
	if o.Rate == 0 {
		o.Rate = 1e-3
	}
	if o.Seeds == 0 {
		o.Seeds = 3
	}
	if o.Done == nil {
		o.Done = func(Parametrisation, int) {}
	}
	return o
}

func (o CoordinateOptions) check() error {
	switch {
	case len(o.Widths) < 2 || !slices.IsSorted(o.Widths) || o.Widths[0] < 1:
		return experiment.Setupf("want 2 or more ascending widths, multiples of the base, got %v", o.Widths)
	case o.Steps < 1:
		return experiment.Setupf("want steps >= 1, got %d", o.Steps)
	case o.Seeds < 1 || !(o.Rate > 0):
		return experiment.Setupf("want Seeds >= 1 and a Rate above 0, got %d and %g", o.Seeds, o.Rate)
	}
	return nil
}

// coordinateTraining is a constant rate, with nothing that could hide how large an update is.
const coordinateTraining = "{batch: 4, steps: %d, lr: %g, schedule: constant, warmup: 0, weight_decay: 0, clip: 0, z_loss: 0}"

// CheckCoordinates measures a scaling's activations under muP and in the standard parametrisation.
// What is wrong with the options or the text is a *experiment.SetupError.
func CheckCoordinates(ctx context.Context, s Scaling, o CoordinateOptions) (*Coordinates, error) {
	o = o.defaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	base, err := s.base(coordinateTraining, o.Steps, o.Rate, o.Seed, o.Set)
	if err != nil {
		return nil, err
	}
	text, err := loadText(ctx, base)
	if err != nil {
		return nil, err
	}
	c := &Coordinates{Scaling: s.Name, Scales: s.Scales, Widths: o.Widths, Steps: base.TotalSteps(), Rate: base.Train.LR, Seeds: o.Seeds}
	for _, p := range parametrisations() {
		sizes := newActivations(p, activationNames(base.Spec()), len(o.Widths))
		for at, m := range o.Widths {
			wide, err := s.at(base, m, p)
			if err != nil {
				return nil, err
			}
			for seed := range o.Seeds {
				wide.Seed = base.Seed + uint64(seed)
				if err := measure(ctx, wide, text, sizes, at, 1/float64(o.Seeds)); err != nil {
					return nil, errors.Wrapf(err, "%s, %s, width x%d", s.Name, p, m)
				}
			}
			o.Done(p, m)
		}
		for i := range sizes {
			sizes[i].SizeSlope, sizes[i].ChangeSlope = slope(o.Widths, sizes[i].Size), slope(o.Widths, sizes[i].Change)
		}
		c.Activations = append(c.Activations, sizes...)
	}
	return c, nil
}

// activationNames lists what is measured: the stream after the embedding and after each site, what
// each sublayer computes, and the features and logits.
func activationNames(s models.Spec) []string {
	names := []string{"embedding.out"}
	parts := map[stream.Sublayer][]string{stream.Attention: {"qkv", "heads"}, stream.FeedForward: {"out", "stream"}}
	for l := range s.Layers {
		for _, kind := range s.Shape().Sublayers {
			for _, part := range parts[kind] {
				names = append(names, fmt.Sprintf("blocks.%d.%s.%s", l, kind, part))
			}
		}
	}
	return append(names, "features", logitsName)
}

func newActivations(p Parametrisation, names []string, widths int) []Activation {
	all := make([]Activation, len(names))
	for i, name := range names {
		all[i] = Activation{Parametrisation: p, Name: name, Size: make([]trainer.Number, widths), Change: make([]trainer.Number, widths)}
	}
	return all
}

// measure trains one model on one batch and adds share of each activation's sizes at a width.
func measure(ctx context.Context, t trial, text *data.Corpus, sizes []Activation, at int, share float64) error {
	l, err := newLearner(t, text, true, hooksOf(sizes))
	if err != nil {
		return err
	}
	defer l.Close()
	before, err := activations(l, sizes)
	if err != nil {
		return err
	}
	err = l.Train(ctx, t.TotalSteps(), func(s learner.Step) error {
		if !s.Finite {
			return errors.Errorf("step %d: want a finite gradient, got one that is not: lower the learning rate", s.N)
		}
		return nil
	})
	if err != nil {
		return err
	}
	after, err := activations(l, sizes)
	if err != nil {
		return err
	}
	for i, a := range sizes {
		a.add(at, share, before[i], after[i])
	}
	return nil
}

// activations runs the model on the next batch and returns its activations.
func activations(l *learner.Learner, sizes []Activation) ([][]float64, error) {
	if _, err := l.Gradient(); err != nil {
		return nil, err
	}
	all := make([][]float64, len(sizes))
	for i, a := range sizes {
		x, err := activation(l, a.Name)
		if err != nil {
			return nil, err
		}
		all[i] = slices.Clone(x) // the next batch overwrites them
	}
	return all, nil
}

// hooksOf lists the activations that a hook keeps: all but the logits, an output.
func hooksOf(sizes []Activation) []string {
	var hooks []string
	for _, a := range sizes {
		if a.Name != logitsName {
			hooks = append(hooks, a.Name)
		}
	}
	return hooks
}

// add adds share of a model's mean sizes to those of a width.
func (a *Activation) add(at int, share float64, before, after []float64) {
	size, change := 0.0, 0.0
	for i, v := range after {
		size += math.Abs(v)
		change += math.Abs(v - before[i])
	}
	share /= float64(len(after))
	a.Size[at] += trainer.Number(share * size)
	a.Change[at] += trainer.Number(share * change)
}

// slope is the least-squares slope of log values against log widths: the exponent with which they
// grow.
func slope(widths []int, values []trainer.Number) trainer.Number {
	n, sumX, sumY := float64(len(widths)), 0.0, 0.0
	for i, w := range widths {
		sumX += math.Log(float64(w))
		sumY += math.Log(float64(values[i]))
	}
	covariance, variance := 0.0, 0.0
	for i, w := range widths {
		dx := math.Log(float64(w)) - sumX/n
		covariance += dx * (math.Log(float64(values[i])) - sumY/n)
		variance += dx * dx
	}
	return trainer.Number(covariance / variance)
}
