package formula

// Sigmoid computes the logistic function: y = 1/(1 + exp(-x)).
func Sigmoid(x Same) (y Same) { return 1 / (1 + Decay(x)) }

// SigmoidGradient computes dx = dy y (1 - y).
func SigmoidGradient(dy, y Same) (dx Same) { return dy * y * (1 - y) }

// Gated computes y = sigmoid(gate) value + addend.
//
//residua:rows
func Gated(gate, value float64, addend Addend) (y float64) {
	return value/(1+Decay(gate)) + addend
}

// GatedGradient computes dvalue = dy sigmoid(gate) + addend, rounding the product before the sum,
// and dgate = dy value sigmoid'(gate).
//
//residua:rows
func GatedGradient(dy, gate, value float64, addend Addend) (dvalue, dgate float64) {
	decay := Decay(gate)
	open := 1 / (1 + decay)
	through := dy * open
	return Round(through) + addend, value * (through * (decay * open))
}

// GatedQuick is Gated to a few units in float32's last place.
//
//residua:rows
func GatedQuick(gate, value float64, addend Addend) (y float64) {
	return value/(1+QuickDecay(gate)) + addend
}

// GatedQuickGradient is the gradient of GatedQuick, without an addend.
//
//residua:rows
func GatedQuickGradient(dy, gate, value float64) (dgate, dvalue float64) {
	decay := QuickDecay(gate)
	open := 1 / (1 + decay)
	through := dy * open
	return value * (through * (decay * open)), through
}
