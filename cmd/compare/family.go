package main

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
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

// family is a model that grows from a small base: width m is the base with the scaled
// sizes m times as large.
type family struct {
	name, stream string
	scales       string // what grows, in words
	base         string // of the model's section, as YAML
	grow         func(c *models.Config, m int)
	bases        func(c models.Config) models.MuP // the muP bases that are c's sizes
}

// families lists them. Positions are learned: ALiBi's slopes depend on the number of heads,
// so that a wider model would be another function.
//
// The matrix stream has three widths. muP takes its keys [R, Dk] for hidden weights, which
// is so where R and Dk grow together, or neither (Dv grows). Where R grows alone, writing
// maps ever more to the same Dk rows: keys of N(0, 1/R) meet rows of the embedding that
// training aligns with them, so that what it changes of X grows, by this argument as
// sqrt(R/Dk), under muP too: matrix-rank shows it. Where Dk grows alone, as in matrix-dk,
// the argument holds for reads, but slopes of 0.1 are all that was seen.
func families() []family {
	const matrix = "stream: matrix, layers: 2, dk: 32, dv: 8, rank: 8, ff: 256, seq: 32, init: lecun"
	bases := func(c models.Config) models.MuP {
		return models.MuP{BaseDk: c.Dk, BaseDv: c.Dv, BaseRank: c.Rank, BaseFF: c.FF}
	}
	return []family{
		{name: "vector", stream: models.StreamVector, scales: "d_model, heads and ff, heads of one size",
			base: "stream: vector, layers: 2, d_model: 64, heads: 4, ff: 256, seq: 32, init: lecun",
			grow: func(c *models.Config, m int) { c.DModel, c.Heads, c.FF = m*c.DModel, m*c.Heads, m*c.FF },
			bases: func(c models.Config) models.MuP {
				return models.MuP{BaseDModel: c.DModel, BaseHeads: c.Heads, BaseHeadDim: c.HeadDim(), BaseFF: c.FF}
			}},
		{name: "matrix", stream: models.StreamMatrix, scales: "dk, rank (heads and keys a site) and ff: stream Dk*Dv and features R*Dv", base: matrix, bases: bases,
			grow: func(c *models.Config, m int) { c.Dk, c.Rank, c.FF = m*c.Dk, m*c.Rank, m*c.FF }},
		{name: "matrix-dv", stream: models.StreamMatrix, scales: "dv (a head's size) and ff: stream Dk*Dv and features R*Dv", base: matrix, bases: bases,
			grow: func(c *models.Config, m int) { c.Dv, c.FF = m*c.Dv, m*c.FF }},
		{name: "matrix-rank", stream: models.StreamMatrix, scales: "rank and ff: features R*Dv, the stream as it is", base: matrix, bases: bases,
			grow: func(c *models.Config, m int) { c.Rank, c.FF = m*c.Rank, m*c.FF }},
		{name: "matrix-dk", stream: models.StreamMatrix, scales: "dk alone: the stream Dk*Dv, features as they are", base: matrix, bases: bases,
			grow: func(c *models.Config, m int) { c.Dk *= m }},
	}
}

// findFamilies returns those of the given names.
func findFamilies(list string) ([]family, error) {
	var known []string
	byName := map[string]family{}
	for _, f := range families() {
		known = append(known, f.name)
		byName[f.name] = f
	}
	var chosen []family
	for _, name := range strings.Split(list, ",") {
		f, ok := byName[strings.TrimSpace(name)]
		if !ok {
			return nil, cli.Usagef("-stream: want some of %s, got %q", strings.Join(known, ", "), name)
		}
		chosen = append(chosen, f)
	}
	return chosen, nil
}

// What all models of a family train with. The coordinate check wants a constant rate and
// nothing that could hide how large an update is.
const (
	checkTraining = "{batch: 4, steps: %d, lr: %g, schedule: constant, warmup: 0, weight_decay: 0, clip: 0, z_loss: 0}"
	sweepTraining = "{batch: 8, steps: %d, lr: %g, schedule: warmup-cosine, warmup: 0.1}"
)

// run returns the base model's run; sets override its keys.
func (f family) run(training string, steps int, rate float64, seed uint64, sets []string) (*config.Run, error) {
	text := fmt.Sprintf("seed: %d\nmodel: {%s}\ntrain: %s\n", seed, f.base, fmt.Sprintf(training, steps, rate))
	run, _, err := config.Parse(f.name, []byte(text), sets)
	return run, cli.Usage(err)
}

// at returns the run of the model m times as wide.
func (f family) at(base *config.Run, m int, p parametrisation) (*config.Run, error) {
	run := *base
	f.grow(&run.Model, m)
	if p == maximal {
		bases := f.bases(base.Model)
		if own := base.Model.MuP; own != nil { // multipliers from -set
			bases.InputMultiplier, bases.OutputMultiplier, bases.AttnMultiplier = own.InputMultiplier, own.OutputMultiplier, own.AttnMultiplier
		}
		run.Model.MuP = &bases
	} else {
		run.Model.MuP = nil
	}
	return &run, cli.Usage(run.Model.Validate())
}
