package formula

// Relu computes max(x, 0).
//
//residua:rows
func Relu(x Single) (y Single) { return max(x, 0) }

// ReluSquared computes max(x, 0)^2.
//
//residua:rows
func ReluSquared(x Single) (y Single) {
	positive := max(x, 0)
	return positive * positive
}

// ReluSquaredGradient computes dx = 2 dy max(x, 0).
//
//residua:rows
func ReluSquaredGradient(dy, x Single) (dx Single) {
	positive := max(x, 0)
	return dy * (positive + positive)
}
