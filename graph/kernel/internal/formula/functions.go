package formula

import "math"

// DecayLimit bounds the argument of Decay: beyond it, sigmoid(x) is 0 or 1 to the last place
// of the arrays' type. Here it is float64's limit; float32's is 104.
const DecayLimit = 700

// Decay returns exp(-x), with x limited to [-DecayLimit, DecayLimit]: sigmoid(x) is 1/(1 +
// Decay(x)), and 1 - sigmoid(x) is Decay(x)/(1 + Decay(x)).
func Decay(x float64) float64 { return math.Exp(-min(max(x, -DecayLimit), DecayLimit)) }

// QuickDecay is Decay to a few units in the last place of float32: vectors compute in float32.
func QuickDecay(x float64) float64 { return Decay(x) }

// Tanh returns the hyperbolic tangent.
func Tanh(x float64) float64 { return math.Tanh(x) }

// TanhSlope returns tanh(x) and its derivative, 1 - tanh(x)^2.
func TanhSlope(x float64) (tanh, slope float64) {
	tanh = math.Tanh(x)
	return tanh, 1 - tanh*tanh
}

// TanhParts returns tanh(x), 1 - tanh(x) and 1 + tanh(x). Vectors compute the last two without
// cancellation.
func TanhParts(x float64) (tanh, below, above float64) {
	tanh = math.Tanh(x)
	return tanh, 1 - tanh, 1 + tanh
}

// Round rounds to the arrays' type, which is float64 here. A GPU does not round.
func Round(x float64) float64 { return x }
