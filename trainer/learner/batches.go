package learner

import "github.com/pkg/errors"

// Batches fills the micro-batches that a Learner trains on; a *data.Batcher does.
type Batches interface {
	// Next fills the next micro-batch with token ids and the token that follows each, both
	// [rows*seq]. The loss skips targets below 0.
	Next(tokens, targets []int32) error
}

// Counter is implemented by Batches whose micro-batches have different numbers of targets, such as
// those of conversations. All targets of a step then count alike: the loss is the sum over the
// step's targets divided by their number, however they are spread over micro-batches and ranks.
type Counter interface {
	// Targets returns the number of targets of each of the next n micro-batches. It does not move
	// on. If it returns nil, the loss is the mean of the micro-batches' means instead.
	Targets(n int) []int
}

// BatchFunc is a function that implements Batches.
type BatchFunc func(tokens, targets []int32) error

// Next calls f.
func (f BatchFunc) Next(tokens, targets []int32) error { return f(tokens, targets) }

// Fixed returns Batches that repeat one micro-batch, both slices [rows*seq]. If the Learner's
// micro-batch has another number of ids, its first step returns an error.
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
