package kernel

import "math"

// statistics are the statistics of one row. Its mean is mean + rest: in float32, mean alone is off
// by up to half a unit in its last place, which for a large mean is not small compared with the
// deviation.
type statistics[T Float] struct{ mean, rest, rstd T }

// rowStatistics computes the statistics of a row in two passes.
func rowStatistics[T Float](p path, x []T, rms bool, eps float64) statistics[T] {
	var s statistics[T]
	if !rms {
		mean := rowMean(p, x)
		s.mean = T(mean)
		s.rest = T(mean - float64(s.mean))
	}
	variance := squaresAbout(p, x, s.mean, s.rest) / float64(len(x))
	s.rstd = T(1 / math.Sqrt(variance+eps))
	return s
}

// savedStatistics reads back the statistics of row i, whose elements are x. It computes the rest of
// the mean again unless the mean is smaller than the deviation, when its rounding is no larger than
// that of the normalised elements.
func savedStatistics[T Float](p path, x, mean, rstd []T, i int, rms bool) statistics[T] {
	s := statistics[T]{rstd: rstd[i]}
	if !rms {
		s.mean = mean[i]
		if s.mean*s.rstd < -1 || s.mean*s.rstd > 1 {
			s.rest = T(rowMean(p, x) - float64(s.mean))
		}
	}
	return s
}

// save writes the statistics to element i of mean, which may be nil, and rstd.
func (s statistics[T]) save(mean, rstd []T, i int) {
	rstd[i] = s.rstd
	if mean != nil {
		mean[i] = s.mean
	}
}

// normalize computes y = (x - mean) * rstd.
func (s statistics[T]) normalize(p path, y, x []T) {
	normalize(p, y, x, s.mean, s.rest, s.rstd)
}

// normalizeScale computes y = (x - mean) * rstd and z = y * gain.
func (s statistics[T]) normalizeScale(p path, y, z, x, gain []T) {
	normalizeScale(p, y, z, x, gain, s.mean, s.rest, s.rstd)
}

// scale computes y = (x - mean) * rstd * gain.
func (s statistics[T]) scale(p path, y, x, gain []T) {
	normScale(p, y, x, gain, s.mean, s.rest, s.rstd)
}

// scaleShift computes y = (x - mean) * rstd * gain + bias.
func (s statistics[T]) scaleShift(p path, y, x, gain, bias []T) {
	normScaleShift(p, y, x, gain, bias, s.mean, s.rest, s.rstd)
}

// The sums below are taken in several parts, so that an addition need not wait for the one before.

// sumBlock is the number of elements that the fast sums add in float32 lanes before adding to a sum
// in float64: 64 terms in each lane.
const sumBlock = 4096

// rowMean returns the mean of x. It sums differences from one element, so that a mean far larger
// than the deviation costs no digits.
func rowMean[T Float](p path, x []T) float64 {
	if len(x) == 0 {
		return 0
	}
	return float64(x[0]) + sumAbout(p, x, x[0])/float64(len(x))
}

// sumAbout returns the sum of x - shift.
func sumAbout[T Float](p path, x []T, shift T) float64 {
	if p > portable {
		total := 0.0
		for ; len(x) > sumBlock; x = x[sumBlock:] {
			total += fastSum(p, x[:sumBlock], shift)
		}
		return total + fastSum(p, x, shift)
	}
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		s0 += float64(x[0] - shift)
		s1 += float64(x[1] - shift)
		s2 += float64(x[2] - shift)
		s3 += float64(x[3] - shift)
	}
	for _, v := range x {
		s0 += float64(v - shift)
	}
	return s0 + s1 + (s2 + s3)
}

// squaresAbout returns the sum of (x - mean - rest)^2.
func squaresAbout[T Float](p path, x []T, mean, rest T) float64 {
	if p > portable {
		total := 0.0
		for ; len(x) > sumBlock; x = x[sumBlock:] {
			total += fastSquares(p, x[:sumBlock], mean, rest)
		}
		return total + fastSquares(p, x, mean, rest)
	}
	var s0, s1 float64
	for ; len(x) >= 2; x = x[2:] {
		v0, v1 := float64(x[0]-mean-rest), float64(x[1]-mean-rest)
		s0 += v0 * v0
		s1 += v1 * v1
	}
	for _, v := range x {
		s0 += float64(v-mean-rest) * float64(v-mean-rest)
	}
	return s0 + s1
}
