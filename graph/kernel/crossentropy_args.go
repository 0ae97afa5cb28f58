package kernel

import "github.com/pkg/errors"

// check says what is wrong with the arguments, if anything.
func (a *CrossEntropyArgs[T]) check() error {
	if a.Tokens < 0 || a.F < 1 || a.Vocab < 1 {
		return errors.Errorf("cross-entropy: want tokens >= 0, features >= 1 and vocabulary >= 1, got %d, %d and %d", a.Tokens, a.F, a.Vocab)
	}
	for _, s := range []struct {
		name      string
		got, want int
		optional  bool
	}{
		{"features [tokens, f]", len(a.Features), a.Tokens * a.F, false},
		{"weight", len(a.Weight), a.F * a.Vocab, false},
		{"targets [tokens]", len(a.Targets), a.Tokens, false},
		{"losses [tokens]", len(a.Losses), a.Tokens, a.Losses == nil},
		{"hits [tokens]", len(a.Hits), a.Tokens, a.Hits == nil},
		{"gradient of features [tokens, f]", len(a.DFeatures), a.Tokens * a.F, a.DFeatures == nil},
		{"gradient of weight", len(a.DWeight), a.F * a.Vocab, a.DWeight == nil},
	} {
		if s.got != s.want && !s.optional {
			return errors.Errorf("cross-entropy: %s: want %d elements for %d tokens, f %d and a vocabulary of %d, got %d",
				s.name, s.want, a.Tokens, a.F, a.Vocab, s.got)
		}
	}
	for t, target := range a.Targets {
		if int(target) >= a.Vocab {
			return TargetError(t, a.Vocab, int(target))
		}
	}
	return nil
}

// TargetError says that the target at a position is not in the vocabulary.
func TargetError(position, vocab, target int) error {
	return errors.Errorf("cross-entropy: target at position %d: want less than the vocabulary of %d, got %d: was the data made with another tokenizer?",
		position, vocab, target)
}

// counted is the number of tokens that are not ignored.
func (a *CrossEntropyArgs[T]) counted() int {
	n := 0
	for _, target := range a.Targets {
		if target >= 0 {
			n++
		}
	}
	return n
}

// clear writes the outputs of a call that counts no token.
func (a *CrossEntropyArgs[T]) clear() {
	clear(a.Losses)
	clear(a.Hits)
	clear(a.DFeatures)
	if !a.Accumulate {
		clear(a.DWeight)
	}
}

// report writes the optional outputs of one token.
func (a *CrossEntropyArgs[T]) report(token int, loss float64, hit bool) {
	if a.Losses != nil {
		a.Losses[token] = T(loss)
	}
	if a.Hits != nil {
		a.Hits[token] = 0
		if hit {
			a.Hits[token] = 1
		}
	}
}
