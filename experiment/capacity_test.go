package experiment

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/models"
)

// capacities is an experiment of two series with three loads.
const capacities = `
seeds: 3
series:
  - {name: a, set: ["data.source={kind: bottleneck-copy, tokens: 3}", "data.path=[]", data.split=hash]}
  - {name: b, set: ["data.source={kind: bottleneck-copy, tokens: 3}", "data.path=[]", data.split=hash]}
experiment: {kind: capacity, key: data.source.vocabulary, values: [2, 4, 16], accuracy: 0.8}`

// TestCapacity: loads are interpolated in their logarithm, seed by seed; beyond all loads there is
// a bound, and a diverged run has answered nothing.
func TestCapacity(t *testing.T) {
	var log []Record
	add := func(series string, accuracy map[string][]float64) {
		for point, bySeed := range accuracy {
			for seed, a := range bySeed {
				r := Record{Series: series, Point: point, Seed: uint64(seed), Accuracy: eval.Number(a), Loss: 1}
				if a == 0 {
					r.Accuracy, r.Loss = 1, eval.Number(math.NaN())
				}
				log = append(log, r)
			}
		}
	}
	// seeds 0 and 1 cross half-way to 16, at 8; seed 2 at 4
	add("a", map[string][]float64{"2": {1, 1, 1}, "4": {0.9, 1, 0.8}, "16": {0.7, 0.6, 0}})
	add("b", map[string][]float64{"2": {1, 1, 0}, "4": {1, 0.9, 1}, "16": {0.8, 0.9, 0}})
	text := newLines(t, capacities).Report(log).Text()
	assert.Regexp(t, `\na +3 +6\.35 +4 to 8 +1 +-`, text)
	assert.Regexp(t, `\nb +3 +<>8 +2 to 16 +1\.26 +0\.\d+ to 2`, text, "4 * (16 * 16 * 2 / (8 * 8 * 4))^(1/3) of a's")
	assert.Regexp(t, `\na 16 +0\.062 +0\.433 ± 0\.219 +0\.700, 0\.600, 0\.000\n`, text)
	assert.Regexp(t, `\nb 4 +0\.250 +0\.967 ± 0\.033 +1\.000, 0\.900, 1\.000\n`, text)
	assert.Regexp(t, `\na +16 +0\.433 ± 0\.219 +- +no +0\.700 +optimisation\n`, text)

	log = slices.DeleteFunc(log, func(r Record) bool { return r.Point == "16" && r.Seed == 2 })
	text = newLines(t, capacities).Report(log).Text()
	assert.Regexp(t, `\na +2 +8 `, text)
	assert.NotRegexp(t, `\na +3 `, text, "a seed counts once all its loads are complete")
}

// TestCapacityRefuses: loads are ascending, since thresholds lie between neighbours.
func TestCapacityRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"[4, 2]": "experiment.values: want loads above 0, ascending, got [4 2]",
		"[0, 2]": "experiment.values: want loads above 0, ascending, got [0 2]",
		"[2]":    "experiment.values: want two or more, got [2]",
	} {
		_, err := parse(Kinds(models.Standard()), "x.yaml", []byte("base: quickstart\nseries: [{name: a}]\nexperiment: {kind: capacity, key: data.source.tokens, values: "+values+"}"), nil)
		assert.ErrorContains(t, err, want)
	}
}
