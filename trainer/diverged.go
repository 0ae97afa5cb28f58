package trainer

import "math"

// Diverged tells whether a loss, in nats a token, is that of a run that diverged: not finite, or
// far above UniformLoss.
func Diverged(loss float64, vocab int) bool {
	const far = 1.5
	return !(loss <= far*UniformLoss(vocab))
}

// UniformLoss is the loss, in nats a token, of a model that gives each token of a vocabulary the same probability.
func UniformLoss(vocab int) float64 { return math.Log(float64(vocab)) }
