package trainer

import "math"

// Diverged tells whether a loss, in nats a token, means that the run has diverged: it is not
// finite, or far above UniformLoss.
func Diverged(loss float64, vocab int) bool {
	const far = 1.5
	return !(loss <= far*UniformLoss(vocab))
}

// Collapsed tells whether a run with this loss and gradient norm has stopped learning: the gradient
// is 0, for example because a norm's variance overflows, and the loss is no better than guessing.
func Collapsed(loss, gradNorm float64, vocab int) bool {
	const none = 1e-12
	return gradNorm <= none && !Learned(loss, vocab) && !Diverged(loss, vocab)
}

// Learned tells whether a loss is lower than UniformLoss by more than 1%.
func Learned(loss float64, vocab int) bool { return loss < 0.99*UniformLoss(vocab) }

// UniformLoss is the loss, in nats a token, of a model that gives each token of a vocabulary the
// same probability.
func UniformLoss(vocab int) float64 { return math.Log(float64(vocab)) }
