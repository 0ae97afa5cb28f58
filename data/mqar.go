package data

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/residua-go/residua/internal/badsetting"
)

// MQAR is multi-query associative recall (Arora et al. 2023, arXiv 2312.04927). An example
// consists of pairs of a key and a value, all different, followed by each key once more with
// its value, which is the answer. The probability that a query comes d places after the last
// pair, at two tokens a place, is proportional to d^(power-1). Blanks fill the places without
// a query.
type MQAR struct {
	Generated
	Vocabulary int     `yaml:"vocabulary" min:"4" max:"30000" help:"number of keys and values, half of each"`
	Length     int     `yaml:"length" min:"5" max:"1000000" help:"tokens of an example"`
	Pairs      int     `yaml:"pairs" min:"1" max:"15000" help:"pairs of a key and a value"`
	Power      float64 `yaml:"power" min:"0" max:"10" help:"queries are d places after the pairs with a probability proportional to d^(power-1)"`
}

// Name returns "mqar".
func (MQAR) Name() string { return "mqar" }

// Tokenizer returns the words k0, k1, ..., v0, v1, ... and _ for a blank.
func (m MQAR) Tokenizer() Tokenizer {
	keys := m.keys()
	return taskWords{m.Name(), slices.Concat(numbered("k", keys), numbered("v", m.Vocabulary-keys), []string{"_", ""})}
}

func (m MQAR) keys() int { return m.Vocabulary / 2 }

// Examples describes the examples. A guess may be any value of the example.
func (m MQAR) Examples() Examples { return Examples{Length: m.Length, Chance: 1 / float64(m.Pairs)} }

// Open returns the reader of the examples, or an error if they have no room for all queries.
func (m MQAR) Open(o Options, _ Tokenizer) (Reader, error) {
	if most := min(m.keys(), (m.Length-1)/4); m.Pairs > most {
		return nil, badsetting.Errorf("data.source.pairs", "want at most %d, for %d keys and %d tokens, of which each pair takes four after the first, got %d",
			most, m.keys(), m.Length, m.Pairs)
	}
	return m.reader(m, o, m.fill)
}

func (m MQAR) fill(r *rand.Rand, row []int32) {
	keys, values := r.Perm(m.keys()), r.Perm(m.Vocabulary-m.keys())
	blank, vocab := int32(m.Vocabulary), int32(m.Vocabulary+2)
	for i := range row {
		row[i] = blank
	}
	queries := row[2*m.Pairs:]
	weights, total := make([]float64, len(queries)/2), 0.0
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), m.Power-1)
		total += weights[i]
	}
	for i := range m.Pairs {
		key, value := int32(keys[i]), int32(m.keys()+values[i])
		row[2*i], row[2*i+1] = key, value
		at, left := -1, r.Float64()*total
		for place, weight := range weights {
			if weight > 0 && (at < 0 || left > 0) {
				at, left = place, left-weight
			}
		}
		total -= weights[at]
		weights[at] = 0
		queries[2*at], queries[2*at+1] = key, value+vocab
	}
}
