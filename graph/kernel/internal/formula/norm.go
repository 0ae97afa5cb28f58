package formula

// Normalize computes y = (x - mean - rest) rstd, rest being what mean lacks in precision.
//
//residua:rows
func Normalize(x Single, mean, rest, rstd Factor) (y Single) { return (x - mean - rest) * rstd }

// NormScale computes y = (x - mean - rest) rstd gain.
//
//residua:rows
func NormScale(x, gain Single, mean, rest, rstd Factor) (y Single) {
	return (x - mean - rest) * rstd * gain
}

// NormalizeScale computes y = (x - mean - rest) rstd and z = y gain.
//
//residua:rows
func NormalizeScale(x, gain Single, mean, rest, rstd Factor) (y, z Single) {
	y = (x - mean - rest) * rstd
	return y, y * gain
}

// NormScaleShift computes y = (x - mean - rest) rstd gain + bias.
//
//residua:rows
func NormScaleShift(x, gain, bias Single, mean, rest, rstd Factor) (y Single) {
	return (x-mean-rest)*rstd*gain + bias
}

// NormRowGradient computes dx = (dy gain - meanH - normal meanHN) rstd + addend.
//
//residua:rows
func NormRowGradient(dy, gain, normal Single, meanH, meanHN, rstd Factor, addend Addend) (dx Single) {
	return addend + (dy*gain-meanH-normal*meanHN)*rstd
}
