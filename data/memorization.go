package data

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Memorization is a task that asks for values of a map from keys to values. The map is the
// same in all examples, so that the weights have to learn it (Poli et al. 2024, arXiv
// 2403.17844). Keys are random; inputs have blanks instead of the values. Validation asks for
// the same map.
type Memorization struct {
	Generated
	Pairs  int `yaml:"pairs" min:"1" max:"15000" help:"pairs of a key and a value to learn"`
	Values int `yaml:"values" min:"2" max:"15000" help:"number of values"`
	Asked  int `yaml:"asked" min:"1" max:"500000" help:"number of keys asked for in an example"`
}

// Name returns "memorization".
func (Memorization) Name() string { return "memorization" }

// Tokenizer returns the words k0, k1, ..., v0, v1, ... and _ for a blank.
func (m Memorization) Tokenizer() Tokenizer {
	return taskWords{m.Name(), slices.Concat(numbered("k", m.Pairs), numbered("v", m.Values), []string{"_", ""})}
}

// Examples describes the examples. A guess may be any value.
func (m Memorization) Examples() Examples {
	return Examples{Length: 1 + 2*m.Asked, Chance: 1 / float64(m.Values), Blank: m.Pairs + m.Values}
}

// Open draws the map and returns the reader of the examples.
func (m Memorization) Open(o Options, t Tokenizer) (Reader, error) {
	draw := rand.New(rand.NewPCG(m.Seed, math.MaxUint64)) // no example has that number
	values := make([]int32, m.Pairs)
	for i := range values {
		values[i] = int32(t.Vocab() + m.Pairs + draw.IntN(m.Values))
	}
	return m.reader(m, o, func(r *rand.Rand, row []int32) {
		for i := 0; i < len(row); i += 2 {
			key := r.IntN(m.Pairs)
			row[i], row[i+1] = int32(key), values[key]
		}
	})
}
