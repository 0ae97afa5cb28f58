package analysis

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
)

// basisControls measures the sites of one space against the same rotations.
type basisControls struct {
	c       models.Spec
	space   string
	options BasisOptions
}

// measure measures the streams at several sites and, as controls, rotated copies of them.
func (b *basisControls) measure(ctx context.Context, sites []cache.Activation) ([]BasisPoint, error) {
	points, own := make([]BasisPoint, len(sites)), make([]basisMeasures, len(sites))
	for i, a := range sites {
		m := measureSamples(b.samples(a, a.Values))
		own[i], points[i] = m, BasisPoint{Site: a.Name, Space: b.space, Samples: m.samples, Kurtosis: m.kurtosis, Size: m.size,
			Peak: floats.MaxIdx(m.kurtosis), Largest: floats.MaxIdx(m.size)}
	}
	controls := make([][4][]float64, len(sites))
	for n := range b.options.Controls {
		r := b.draw(sites[0].Shape[len(sites[0].Shape)-1], n)
		for i, a := range sites {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for k, v := range measureSamples(b.samples(a, r.rotateStream(a))).each {
				controls[i][k] = append(controls[i][k], v)
			}
		}
	}
	for i := range points {
		p := &points[i]
		for k, to := range []*Controlled{&p.MeanKurtosis, &p.MaxKurtosis, &p.Across, &p.MaxMean} {
			*to = controlled(own[i].each[k], controls[i][k])
		}
	}
	return points, nil
}

// draw draws the rotation of control n, for streams whose last axis has size entries.
func (b *basisControls) draw(size, n int) *Rotation {
	seed := b.options.Seed + uint64(n)
	if b.space == SpaceStream { // also where the weights cannot be rotated; vectors of any width
		return &Rotation{Stream: numerics.RandomOrthogonal(size, rand.New(rand.NewPCG(seed, 0)), false)}
	}
	r, _ := drawRotation(b.c, RotationOptions{Space: b.space, Seed: seed}) // no error: spacesOf lists the space
	return r
}

// rotateStream returns the rotated values of a stream [T, ..., D] or [T, Dk, Dv].
func (r *Rotation) rotateStream(a cache.Activation) []float64 {
	values, last := a.Values, a.Shape[len(a.Shape)-1]
	for _, q := range []*mat.Dense{r.Stream, r.Value} {
		if q != nil {
			values = rotateValues(values, q, writes, last)
		}
	}
	if r.Key != nil {
		values = rotateValues(values, r.Key, reads, last)
	}
	return values
}

// samples returns the values of a stream as samples [N, n] of the space, and n.
func (b *basisControls) samples(a cache.Activation, values []float64) ([]float64, int) {
	last := a.Shape[len(a.Shape)-1]
	if b.space == SpaceStream || b.space == SpaceValue {
		return values, last
	}
	rows := a.Shape[len(a.Shape)-2]
	if b.space == SpaceBoth { // [T, Dk*Dv]
		return values, rows * last
	}
	all := make([]float64, 0, len(values)) // [T*Dv, Dk]
	for x := range slices.Chunk(values, rows*last) {
		all = append(all, numerics.Transposed(mat.NewDense(rows, last, x)).RawMatrix().Data...)
	}
	return all, rows
}

// basisMeasures holds the measures of samples.
type basisMeasures struct {
	samples        int
	kurtosis, size []float64 // of each direction over the samples, [n]
	each           []float64 // mean and largest kurtosis, mean kurtosis of a sample's entries, largest size divided by the mean size
}

// measureSamples measures samples [N, n], which are x in row order.
func measureSamples(x []float64, n int) basisMeasures {
	m := basisMeasures{samples: len(x) / n}
	for j := range n {
		entries := mat.Col(nil, j, mat.NewDense(m.samples, n, x))
		m.kurtosis = append(m.kurtosis, Kurtosis(entries))
		m.size = append(m.size, floats.Norm(entries, 2)/math.Sqrt(float64(len(entries))))
	}
	var across []float64
	for sample := range slices.Chunk(x, n) {
		across = append(across, Kurtosis(sample))
	}
	m.each = []float64{meanKurtosis(m.kurtosis), floats.Max(m.kurtosis), meanKurtosis(across), numerics.Ratio(floats.Max(m.size), stat.Mean(m.size, nil))}
	return m
}

// controlled compares a measure with the controls'.
func controlled(own float64, controls []float64) Controlled {
	c := Controlled{Own: own, Rotated: stat.Mean(controls, nil)}
	if len(controls) > 1 {
		c.Deviation = stat.StdDev(controls, nil)
	}
	return c
}

// Kurtosis is m4/m2^2 of values, with the population's central moments m_k = mean((x - mean)^k): 3
// for a Gaussian, 6 for a Laplace distribution, at least 1, and at most the number of values, so
// that small samples are pulled down. It is not defined for equal values or for no values; Kurtosis
// then returns 0.
func Kurtosis(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	mean, m2, m4 := floats.Sum(x)/float64(len(x)), 0.0, 0.0
	for _, v := range x {
		square := (v - mean) * (v - mean)
		m2, m4 = m2+square/float64(len(x)), m4+square*square/float64(len(x))
	}
	const rounding = 1e-24 // of squares
	if m2 <= rounding*mean*mean {
		return 0
	}
	return m4 / (m2 * m2)
}

// meanKurtosis returns the mean of the kurtoses that are defined.
func meanKurtosis(all []float64) float64 {
	sum, n := 0.0, 0
	for _, k := range all {
		if k > 0 {
			sum, n = sum+k, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
