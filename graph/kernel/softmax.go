package kernel

import "math"

// The rows of a softmax, for attention and cross-entropy. A row takes two passes: one for its
// largest value, one for exp(x - largest), in place, and its sum.

// softmaxExp replaces every x by exp(x - shift) and returns the sum of the results in float64. In
// float32 the result is within 0.51 units in the last place of exp of the difference, also for
// subnormal numbers; the portable form rounds the difference to float32 first. In float64 it uses
// math.Exp. A NaN gives NaN.
func softmaxExp[T Float](p path, x []T, shift T) float64 {
	if p > portable {
		return fastExp(p, x, float64(shift))
	}
	switch x := any(x).(type) {
	case []float32:
		return softmaxExp32(x, float32(shift))
	case []float64:
		return softmaxExp64(x, float64(shift))
	}
	return 0
}

func softmaxExp32(x []float32, shift float32) float64 {
	const underflow, overflow = -104, 89 // beyond these, exp rounds to 0 and to +Inf
	var sum float64
	for i, v := range x {
		v -= shift
		if v < underflow {
			v = underflow
		}
		if v > overflow {
			v = overflow
		}
		scale, part := expSplit(float64(v))
		e := float32(scale + part)
		x[i] = e
		sum += float64(e)
	}
	return sum
}

func softmaxExp64(x []float64, shift float64) float64 {
	var sum float64
	for i, v := range x {
		e := math.Exp(v - shift)
		x[i] = e
		sum += e
	}
	return sum
}

// softmaxMaxPortable returns the largest value of x, -Inf if x is empty. If x holds a NaN, the
// result is NaN or the largest of the other values: with either, softmaxExp's sum is NaN.
func softmaxMaxPortable[T Float](x []T) T {
	largest := T(math.Inf(-1))
	for _, v := range x {
		largest = max(largest, v) // without a branch, which would be mispredicted in attention's short rows
	}
	return largest
}

// distancesMax subtracts slope * (far - i) from x_i, for consecutive keys, and returns the largest
// result, as softmaxMax does.
func distancesMax[T Float](p path, x []T, slope float64, far int) T {
	if p > portable && slope != 0 {
		return fastDistancesMax(p, x, 1, T(slope), T(far))
	}
	addDistances(x, slope, far)
	return softmaxMax(p, x)
}

// addDistances subtracts slope * (far - i) from x_i.
func addDistances[T Float](x []T, slope float64, far int) {
	if slope == 0 {
		return
	}
	s, f := T(slope), T(far)
	for i := range x {
		x[i] -= s * (f - T(i))
	}
}

// scaleRow multiplies a row by s.
func scaleRow[T Float](p path, row []T, s T) {
	if p > portable {
		fastScale(p, row, row, s)
		return
	}
	for i := range row {
		row[i] *= s
	}
}

// rowDot returns x . y; in float32 the portable form sums in four interleaved parts.
func rowDot[T Float](p path, x, y []T) T {
	if p > portable {
		return T(dotProduct(p, x, y))
	}
	var s0, s1, s2, s3 T
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for c, v := range x {
		s0 += v * y[c]
	}
	return (s0 + s1) + (s2 + s3)
}
