package learner

import "github.com/pkg/errors"

// Batches fills the micro-batches that a Learner trains on; a *data.Batcher does.
type Batches interface {
	// Next fills the next micro-batch: token ids and what follows each, both [rows*seq]. A target below 0 is
	// not counted in the loss.
	Next(tokens, targets []int32) error
}

// BatchFunc is a function as Batches.
type BatchFunc func(tokens, targets []int32) error

// Next calls f.
func (f BatchFunc) Next(tokens, targets []int32) error { return f(tokens, targets) }

// Fixed returns Batches that are always the same micro-batch, both slices [rows*seq]. Another number of
// ids than the Learner's micro-batch has is an error of its first step.
func Fixed(tokens, targets []int32) Batches {
	return BatchFunc(func(t, u []int32) error {
		if len(tokens) != len(t) || len(targets) != len(u) {
			return errors.Errorf("learner: fixed batch: want %d tokens and targets, rows x seq, got %d and %d", len(t), len(tokens), len(targets))
		}
		copy(t, tokens)
		copy(u, targets)
		return nil
	})
}
