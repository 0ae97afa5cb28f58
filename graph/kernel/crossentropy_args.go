package kernel

import "github.com/pkg/errors"

// check refuses targets beyond the vocabulary.
func (a *CrossEntropyArgs[T]) check() error {
	for t, target := range a.Targets {
		if int(target) >= a.Vocab {
			return TargetError(t, a.Vocab, int(target))
		}
	}
	return nil
}

// TargetError returns the error that the target at a position is not in the vocabulary.
func TargetError(position, vocab, target int) error {
	return errors.Errorf("cross-entropy: target at position %d: want less than the vocabulary of %d, got %d: was the data made with another tokenizer?",
		position, vocab, target)
}

// counted returns the number of tokens that are not ignored.
func (a *CrossEntropyArgs[T]) counted() int {
	n := 0
	for _, target := range a.Targets {
		if target >= 0 {
			n++
		}
	}
	return n
}

// divisor returns the number that sums over tokens are divided by.
func (a *CrossEntropyArgs[T]) divisor(counted int) float64 {
	if a.Count > 0 {
		return a.Count
	}
	return float64(counted)
}

// clear writes the outputs of a call in which no token counts.
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
