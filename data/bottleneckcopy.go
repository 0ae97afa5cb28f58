package data

import (
	"math/rand/v2"
	"slices"
)

// BottleneckCopy is a task whose examples are random tokens, a separator, and the same tokens
// again, which are the answers. With the mask of documents, which is on unless
// data.mask_documents says otherwise, tokens after the separator see nothing before it:
// whatever they know of the source has passed through the stream at the separator. It is the
// compression task of Poli et al. 2024 (arXiv 2403.17844), made causal.
type BottleneckCopy struct {
	Generated
	Vocabulary int `yaml:"vocabulary" min:"2" max:"30000" help:"number of ids that are copied"`
	Tokens     int `yaml:"tokens" min:"1" max:"500000" help:"tokens to copy"`
}

// Name returns "bottleneck-copy".
func (BottleneckCopy) Name() string { return "bottleneck-copy" }

// Tokenizer returns the words 0, 1, ... and = for the separator.
func (c BottleneckCopy) Tokenizer() Tokenizer {
	return taskWords{c.Name(), slices.Concat(numbered("", c.Vocabulary), []string{"=", ""})}
}

// Examples describes the examples. A guess may be any id.
func (c BottleneckCopy) Examples() Examples {
	return Examples{Length: 2 + 2*c.Tokens, Chance: 1 / float64(c.Vocabulary), Separator: c.Vocabulary}
}

// Open returns the reader of the examples.
func (c BottleneckCopy) Open(o Options, t Tokenizer) (Reader, error) {
	return c.reader(c, o, func(r *rand.Rand, row []int32) {
		for i := range c.Tokens {
			id := int32(r.IntN(c.Vocabulary))
			row[i], row[c.Tokens+1+i] = id, id+int32(t.Vocab())
		}
		row[c.Tokens] = int32(c.Vocabulary)
	})
}
