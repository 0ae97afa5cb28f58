package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/models"
)

// TestContrasts: losses are compared seed by seed, tested one-sided, and corrected once all
// contrasts have pairs.
func TestContrasts(t *testing.T) {
	l := newLines(t, "seeds: 4\ncontrasts: [[b, a], [c, a]]\nseries: [{name: a}, {name: b}, {name: c}]\nexperiment: {kind: variants}")
	losses := map[string][]float64{"a": {3, 3.2, 3.1, 3.3}, "b": {2.9, 3, 2.8, 2.9}}
	var log []Record
	add := func(series string) {
		for seed, loss := range losses[series] {
			log = append(log, Record{Series: series, Seed: uint64(seed), Loss: eval.Number(loss), Bits: eval.Number(loss)})
		}
	}
	add("a")
	add("b")
	assert.Regexp(t, `\nb - a +4 +-0\.2500 ± 0\.0645 +-0\.\d+ to -0\.\d+ +0\.062 +-\n`, l.Report(log).Text())
	losses["c"] = []float64{3.1, 3, 3.2, 3.2}
	add("c")
	assert.Regexp(t, `\nb - a .* 0\.062 +0\.12\nc - a .* 0\.5 +0\.5\n`, l.Report(log).Text())
}

// TestNamesOfContrasts: names that the report will not have are errors at their line.
func TestNamesOfContrasts(t *testing.T) {
	for text, want := range map[string]string{
		"contrasts: [[a]]":    "contrasts[0]: want two names, as in [rmt, transformer], got 1",
		"contrasts: [[a, b]]": `contrasts[0]: want two of a, got "b"`,
		"seeds_of: {b: 2}":    `seeds_of: want series of this experiment, got "b"`,
		"seeds_of: {a: 0}":    "seeds_of.a: want >= 1, got 0",
	} {
		_, err := parsed(t, text+"\nseries: [{name: a}]\nexperiment: {kind: variants}").Plan(t.Context(), models.Standard(), t.TempDir())
		assert.ErrorContains(t, err, want)
	}
}
