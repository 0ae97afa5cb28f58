package kernel

// normGradient computes dx = (h - mean(h) - n * mean(h * n)) * rstd with h = dy * gain and n the
// normalised row, given the sums of h and of h * n; it adds the addend, unless that is nil. dx may
// be dy or the addend.
func normGradient[T Float](p path, dx, addend, dy, gain, n []T, sumH, sumHN float64, rstd T, rms bool) {
	meanHN := T(sumHN / float64(len(n)))
	var meanH T
	if !rms {
		meanH = T(sumH / float64(len(n)))
	}
	normRowGradient(p, dx[:len(n)], dy, gain, n, addend, meanH, meanHN, rstd)
}

// gradientSums returns the sums of h and of h * n, h = dy * gain.
func gradientSums[T Float](p path, dy, gain, n []T) (sumH, sumHN float64) {
	if p > portable {
		return fastGradientSums(p, n, dy, gain)
	}
	var h0, h1, n0, n1 float64
	for len(n) >= 2 && len(dy) >= 2 && len(gain) >= 2 {
		a, b := float64(dy[0]*gain[0]), float64(dy[1]*gain[1])
		h0 += a
		h1 += b
		n0 += a * float64(n[0])
		n1 += b * float64(n[1])
		dy, gain, n = dy[2:], gain[2:], n[2:]
	}
	if len(n) > 0 {
		a := float64(dy[0] * gain[0])
		h0 += a
		n0 += a * float64(n[0])
	}
	return h0 + h1, n0 + n1
}

// gradientSumsGain returns the same sums, and also computes dgain += dy * n, unless dgain is nil.
func gradientSumsGain[T Float](p path, dgain, dy, gain, n []T) (sumH, sumHN float64) {
	if dgain == nil {
		return gradientSums(p, dy, gain, n)
	}
	if p > portable {
		return fastGradientSumsGain(p, dgain, n, dy, gain)
	}
	addProducts(p, dgain, dy, n)
	return gradientSums(p, dy, gain, n)
}
