// Package mup checks the maximal update parametrisation (muP; Yang et al. 2022, Tensor Programs V,
// arXiv 2203.03466) on small models of growing width, trained in memory: that activations keep their
// size, under muP and in the standard parametrisation. That the best learning rate stays where it is takes trained
// runs: experiments/mup-rates.yaml.
package mup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// Parametrisation says how initial values, learning rates and multipliers depend on the width. Both
// start hidden weights at N(0, 1/fan-in) and the unembedding at 0.
type Parametrisation string

// The two that are compared.
const (
	MuP      Parametrisation = "muP"      // Yang et al. 2022; its base is the smallest model
	Standard Parametrisation = "standard" // one rate for all, no multipliers
)

// parametrisations lists them in the order of tables and panels.
func parametrisations() []Parametrisation { return []Parametrisation{MuP, Standard} }

// Scaling is a small model and the sizes of it that grow: in the model of width m each is m times as
// large.
type Scaling struct {
	Name string // of the design, and of what grows where that is not all of it
	stream.WidthScaling
	zoo models.Zoo // in which the small model is the preset of this name
}

// Scalings lists those of each design in the zoo for which muP is known.
func Scalings(zoo models.Zoo) []Scaling {
	var all []Scaling
	for _, d := range zoo.Streams() {
		scaled, ok := d.(stream.MuPDesign)
		if !ok {
			continue
		}
		for _, g := range scaled.WidthScalings() {
			s := Scaling{Name: d.Name(), WidthScaling: g}
			if g.Name != "" {
				s.Name += "-" + g.Name
			}
			s.zoo = zoo.WithPresets(models.Preset{Name: s.Name, Config: s.small()})
			all = append(all, s)
		}
	}
	return all
}

// Whole tells whether all sizes of the design grow.
func (s Scaling) Whole() bool { return s.WidthScaling.Name == "" }

// Find returns the scalings of these names.
func Find(zoo models.Zoo, names []string) ([]Scaling, error) {
	var found []Scaling
	known := Scalings(zoo)
	for _, name := range names {
		i := slices.IndexFunc(known, func(s Scaling) bool { return s.Name == strings.TrimSpace(name) })
		if i < 0 {
			var all []string
			for _, s := range known {
				all = append(all, s.Name)
			}
			return nil, experiment.Setupf("want some of %s, got %q", strings.Join(all, ", "), name)
		}
		found = append(found, known[i])
	}
	return found, nil
}

// small is the smallest model. Positions are learned: ALiBi's slopes depend on the number of heads, so
// that a wider model would be another function.
func (s Scaling) small() models.Config {
	c := models.Config{Layers: 2, Seq: 32, Init: models.InitLeCun, Stream: s.Base, Attention: models.Attention{Heads: s.Heads}}
	if shape := s.Base.Shape(); shape.Has(stream.FeedForward) {
		c.FeedForward = layers.GELUConfig{Hidden: 4 * shape.Width}
	}
	return c
}

// base returns the smallest model's run, trained as YAML says with these steps and rate; set overrides
// its keys.
func (s Scaling) base(training string, steps int, rate float64, seed uint64, set []string) (*config.Run, error) {
	text := fmt.Sprintf("seed: %d\nmodel: {preset: %s}\ntrain: %s\n", seed, s.Name, fmt.Sprintf(training, steps, rate))
	run, _, err := config.Parse(s.zoo, s.Name, []byte(text), set)
	return run, experiment.Setup(err)
}

// loadText loads the text that a run trains on.
func loadText(ctx context.Context, run *config.Run) (*data.Corpus, error) {
	corpus, err := run.Data.LoadCorpus(ctx, run.Device.Threads)
	if err == nil {
		err = corpus.Check(run.Train.Batch, run.Model.Seq)
	}
	return corpus, experiment.Setup(err)
}

// trial is a model of some width, and the run that says how it trains.
type trial struct {
	*config.Run
	model models.Spec
}

// at returns the model m times as wide, trained as the base is.
func (s Scaling) at(base *config.Run, m int, p Parametrisation) (trial, error) {
	c, err := base.Model.Widened(m, s.Keys...)
	if err != nil {
		return trial{}, experiment.Setup(err)
	}
	c.MuP = nil
	if p == MuP {
		c.MuP = mupOf(base.Model)
	}
	run := *base
	spec, err := c.Resolve()
	return trial{&run, spec}, experiment.Setup(err)
}

// mupOf is the parametrisation whose base is the model; its multipliers are the model's.
func mupOf(c models.Config) *models.MuP {
	mup := models.MuP{}
	if c.MuP != nil { // overridden
		mup = *c.MuP
	}
	mup.Base = models.MuPBase{Stream: c.Stream, FeedForward: c.FeedForward,
		Attention: models.BaseHeads{Heads: c.Attention.Heads, HeadDim: c.Attention.HeadDim}}
	return &mup
}
