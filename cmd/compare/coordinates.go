package main

import (
	"context"
	"fmt"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// logitsName names the logits among the activations.
const logitsName = "logits"

// coordinates is the coordinate check of muP (Yang et al. 2022, Tensor Programs V, arXiv
// 2203.03466, appendix D.1): models of growing width train for a few steps on one batch,
// and the mean size of each activation's coordinates is held against the width. In a
// correct muP every activation, and what training changed of it, stays of one size as the
// width grows; in the standard parametrisation some blow up.
type coordinates struct {
	Family      string            `json:"stream"`
	Scales      string            `json:"scales"`
	Widths      []int             `json:"widths"` // multiples of the base
	Steps       int               `json:"steps"`
	Rate        float64           `json:"lr"`
	Seeds       int               `json:"seeds"`
	Activations []activationSizes `json:"activations"`
}

// activationSizes is one activation under one parametrisation, a value a width: of x_t
// after t steps and of what they changed, x_t - x_0.
type activationSizes struct {
	Parametrisation parametrisation `json:"parametrisation"`
	Name            string          `json:"name"`
	Size            []number        `json:"mean_abs"`        // mean |x_t|
	Change          []number        `json:"mean_abs_change"` // mean |x_t - x_0|
	SizeSlope       number          `json:"slope"`           // of log mean |x_t| against log width
	ChangeSlope     number          `json:"change_slope"`    // of log mean |x_t - x_0|
}

// activationNames lists what is measured: the stream behind the embedding and each site,
// what each sublayer computes, and the way out.
func activationNames(s models.Spec) []string {
	names := []string{"embedding.out"}
	parts := map[stream.Kind][]string{stream.Attention: {"qkv", "heads"}, stream.FeedForward: {"out", "stream"}}
	for l := range s.Layers {
		for _, kind := range s.Shape().Sublayers {
			for _, part := range parts[kind] {
				names = append(names, fmt.Sprintf("blocks.%d.%s.%s", l, kind, part))
			}
		}
	}
	return append(names, "features", logitsName)
}

// checkFamily measures a family, averaging over the corpus's batches and initial values of
// several seeds.
func checkFamily(ctx context.Context, f family, base *config.Run, corpus *data.Corpus, widths []int, seeds int) (*coordinates, error) {
	c := &coordinates{Family: f.name, Scales: f.Scales, Widths: widths, Steps: base.TotalSteps(), Rate: base.Train.LR, Seeds: seeds}
	names := activationNames(base.Spec())
	for _, p := range parametrisations() {
		sizes := make([]activationSizes, len(names))
		for i, name := range names {
			sizes[i] = activationSizes{Parametrisation: p, Name: name, Size: make([]number, len(widths)), Change: make([]number, len(widths))}
		}
		for at, m := range widths {
			wide, err := f.at(base, m, p)
			if err != nil {
				return nil, err
			}
			for seed := range seeds {
				wide.Seed = base.Seed + uint64(seed)
				if err := measure(ctx, wide, corpus, sizes, at, 1/float64(seeds)); err != nil {
					return nil, errors.Wrapf(err, "%s, %s, width x%d", f.name, p, m)
				}
			}
		}
		for i := range sizes {
			sizes[i].SizeSlope, sizes[i].ChangeSlope = slope(widths, sizes[i].Size), slope(widths, sizes[i].Change)
		}
		c.Activations = append(c.Activations, sizes...)
	}
	return c, nil
}

// measure trains one model on one batch and adds share of each activation's sizes at a
// width.
func measure(ctx context.Context, t trial, corpus *data.Corpus, sizes []activationSizes, at int, share float64) error {
	s, err := newSmall(t, corpus, hooksOf(sizes))
	if err != nil {
		return err
	}
	defer s.close()
	s.fixed = true
	if err := s.train(ctx, 0); err != nil {
		return err
	}
	before := make([][]float64, len(sizes))
	for i, a := range sizes {
		x, err := s.activation(a.Name)
		if err != nil {
			return err
		}
		before[i] = append([]float64(nil), x...)
	}
	if err := s.train(ctx, t.TotalSteps()); err != nil {
		return err
	}
	for i, a := range sizes {
		after, err := s.activation(a.Name)
		if err != nil {
			return err
		}
		a.add(at, share, before[i], after)
	}
	return nil
}

// hooksOf lists the activations that a hook keeps: all but the logits, an output.
func hooksOf(sizes []activationSizes) []string {
	var hooks []string
	for _, a := range sizes {
		if a.Name != logitsName {
			hooks = append(hooks, a.Name)
		}
	}
	return hooks
}

// add adds share of a model's mean sizes to those of a width.
func (a *activationSizes) add(at int, share float64, before, after []float64) {
	size, change := 0.0, 0.0
	for i, v := range after {
		size += math.Abs(v)
		change += math.Abs(v - before[i])
	}
	share /= float64(len(after))
	a.Size[at] += number(share * size)
	a.Change[at] += number(share * change)
}

// slope is the least-squares slope of log values against log widths: the exponent with
// which they grow.
func slope(widths []int, values []number) number {
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
	return number(covariance / variance)
}

// steepest returns the activation whose size, or change, depends most on the width.
func (c *coordinates) steepest(p parametrisation) (name string, steepest number) {
	for _, a := range c.Activations {
		for _, s := range []number{a.SizeSlope, a.ChangeSlope} {
			if a.Parametrisation == p && (name == "" || math.Abs(float64(s)) > math.Abs(float64(steepest))) {
				name, steepest = a.Name, s
			}
		}
	}
	return name, steepest
}
