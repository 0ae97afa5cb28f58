package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// parametrisation says how initial values, rates and multipliers depend on the width.
type parametrisation string

// The two that are compared. Both start hidden weights at N(0, 1/fan-in) and the
// unembedding at 0.
const (
	maximal  parametrisation = "muP"      // Yang et al. 2022, base: the family's smallest model
	standard parametrisation = "standard" // one rate for all, no multipliers
)

// parametrisations lists them in the order of tables and panels.
func parametrisations() []parametrisation { return []parametrisation{maximal, standard} }

// family is a model that grows from a small one as its stream's design says: width m has the
// sizes of the growth's keys m times as large.
type family struct {
	name string // the design's, and of a growth of some sizes the growth's
	stream.Growth
	zoo models.Zoo // in which the small model is the preset of the family's name
}

// families are those of each design in the zoo that muP is known for.
func families(zoo models.Zoo) []family {
	var all []family
	for _, d := range zoo.Streams() {
		scaled, ok := d.(stream.Scaled)
		if !ok {
			continue
		}
		for _, g := range scaled.Growths() {
			f := family{name: d.Name(), Growth: g}
			if g.Name != "" {
				f.name += "-" + g.Name
			}
			f.zoo = zoo.WithPresets(models.Preset{Name: f.name, Config: f.small()})
			all = append(all, f)
		}
	}
	return all
}

// small is the family's smallest model. Positions are learned: ALiBi's slopes depend on the
// number of heads, so that a wider model would be another function.
func (f family) small() models.Config {
	c := models.Config{Layers: 2, Seq: 32, Init: models.InitLeCun, Stream: f.Base, Attention: models.Attention{Heads: f.Heads}}
	if shape := f.Base.Shape(); shape.Has(stream.FeedForward) {
		c.FeedForward = layers.GELUConfig{Hidden: 4 * shape.Width}
	}
	return c
}

// familyNames are the names of all families, and of those in which all sizes grow.
func familyNames(zoo models.Zoo) (all, whole []string) {
	for _, f := range families(zoo) {
		all = append(all, f.name)
		if f.Name == "" {
			whole = append(whole, f.name)
		}
	}
	return all, whole
}

// familyNotes say what grows in each.
func familyNotes(zoo models.Zoo) []string {
	var notes []string
	for _, f := range families(zoo) {
		notes = append(notes, "  "+f.name+": scales "+f.Scales)
	}
	return notes
}

// findFamilies returns those of the given names.
func findFamilies(zoo models.Zoo, list string) ([]family, error) {
	var chosen []family
	known := families(zoo)
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(known, func(f family) bool { return f.name == strings.TrimSpace(name) })
		if i < 0 {
			names, _ := familyNames(zoo)
			return nil, cli.Usagef("-stream: want some of %s, got %q", strings.Join(names, ", "), name)
		}
		chosen = append(chosen, known[i])
	}
	return chosen, nil
}

// What all models of a family train with. The coordinate check wants a constant rate and
// nothing that could hide how large an update is.
const (
	checkTraining = "{batch: 4, steps: %d, lr: %g, schedule: constant, warmup: 0, weight_decay: 0, clip: 0, z_loss: 0}"
	sweepTraining = "{batch: 8, steps: %d, lr: %g, schedule: warmup-cosine, warmup: 0.1}"
)

// run returns the smallest model's run; sets override its keys.
func (f family) run(training string, steps int, rate float64, seed uint64, sets []string) (*config.Run, error) {
	text := fmt.Sprintf("seed: %d\nmodel: {preset: %s}\ntrain: %s\n", seed, f.name, fmt.Sprintf(training, steps, rate))
	run, _, err := config.Parse(f.zoo, f.name, []byte(text), sets)
	return run, cli.Usage(err)
}

// trial is a model, and the run that says how it trains.
type trial struct {
	*config.Run
	model models.Spec
}

// at returns the model m times as wide, trained as the base is.
func (f family) at(base *config.Run, m int, p parametrisation) (trial, error) {
	c, err := base.Model.Widened(m, f.Keys...)
	if err != nil {
		return trial{}, cli.Usage(err)
	}
	c.MuP = nil
	if p == maximal {
		c.MuP = mupOf(base.Model)
	}
	run := *base
	spec, err := c.Resolve()
	return trial{&run, spec}, cli.Usage(err)
}

// mupOf is the parametrisation whose base is the model; its multipliers are the model's.
func mupOf(c models.Config) *models.MuP {
	mup := models.MuP{}
	if c.MuP != nil { // from -set
		mup = *c.MuP
	}
	mup.Base = models.MuPBase{Stream: c.Stream, FeedForward: c.FeedForward,
		Attention: models.BaseHeads{Heads: c.Attention.Heads, HeadDim: c.Attention.HeadDim}}
	return &mup
}
