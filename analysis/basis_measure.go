package analysis

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/models"
)

// basisControls measures the sites of one space against the same rotations.
type basisControls struct {
	c         models.Spec
	space     string
	options   BasisOptions
	rotations []*Rotation
}

// measure measures a stream and rotated copies of it.
func (b *basisControls) measure(a cache.Activation) (BasisPoint, error) {
	if err := b.draw(a.Shape[len(a.Shape)-1]); err != nil {
		return BasisPoint{}, err
	}
	own := measureSamples(b.samples(a, a.Values))
	p := BasisPoint{Site: a.Name, Space: b.space, Samples: own.samples, Kurtosis: own.kurtosis, Size: own.size,
		Peak: floats.MaxIdx(own.kurtosis), Largest: floats.MaxIdx(own.size)}
	var rotated []basisMeasures
	for _, r := range b.rotations {
		rotated = append(rotated, measureSamples(b.samples(a, r.rotateStream(a))))
	}
	for _, m := range []struct {
		to *Controlled
		of func(basisMeasures) float64
	}{
		{&p.MeanKurtosis, func(m basisMeasures) float64 { return meanKurtosis(m.kurtosis) }},
		{&p.MaxKurtosis, func(m basisMeasures) float64 { return floats.Max(m.kurtosis) }},
		{&p.Across, func(m basisMeasures) float64 { return m.across }},
		{&p.MaxMean, basisMeasures.maxMean},
	} {
		*m.to = controlled(own, rotated, m.of)
	}
	return p, nil
}

// draw makes the rotations, for a stream whose last axis has size entries.
func (b *basisControls) draw(size int) error {
	if b.rotations != nil {
		return nil
	}
	for i := range b.options.Controls {
		seed := b.options.Seed + uint64(i)
		if b.space == SpaceStream { // any stream of vectors, whatever their width
			q := randomOrthogonal(size, rand.New(rand.NewPCG(seed, 0)), false)
			b.rotations = append(b.rotations, &Rotation{Stream: q})
			continue
		}
		r, err := drawRotation(b.c, RotationOptions{Space: b.space, Seed: seed})
		if err != nil {
			return err
		}
		b.rotations = append(b.rotations, r)
	}
	return nil
}

// rotateStream returns the values of a stream [T, ..., D] or [T, Dk, Dv], rotated.
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

// samples are a stream's values as samples [N, n] of the space, and n.
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
	for size, at := rows*last, 0; at < len(values); at += size {
		x := mat.NewDense(rows, last, values[at:at+size])
		all = append(all, mat.DenseCopyOf(x.T()).RawMatrix().Data...)
	}
	return all, rows
}

// basisMeasures are what is measured of samples.
type basisMeasures struct {
	samples        int
	kurtosis, size []float64 // of each direction over the samples, [n]
	across         float64   // mean kurtosis of a sample's entries
}

// measureSamples measures samples [N, n].
func measureSamples(x []float64, n int) basisMeasures {
	m := basisMeasures{samples: len(x) / n}
	for j := range n {
		entries := column(x, n, j)
		m.kurtosis = append(m.kurtosis, Kurtosis(entries))
		m.size = append(m.size, floats.Norm(entries, 2)/math.Sqrt(float64(len(entries))))
	}
	var each []float64
	for i := range m.samples {
		each = append(each, Kurtosis(x[i*n:][:n]))
	}
	m.across = meanKurtosis(each)
	return m
}

// maxMean is the largest direction's size over the mean of all; 0 of an empty stream.
func (m basisMeasures) maxMean() float64 {
	mean := stat.Mean(m.size, nil)
	if mean == 0 {
		return 0
	}
	return floats.Max(m.size) / mean
}

// controlled compares a measure with the controls'.
func controlled(own basisMeasures, rotated []basisMeasures, of func(basisMeasures) float64) Controlled {
	var all []float64
	for _, m := range rotated {
		all = append(all, of(m))
	}
	c := Controlled{Own: of(own), Rotated: stat.Mean(all, nil)}
	if len(all) > 1 {
		c.Deviation = stat.StdDev(all, nil)
	}
	return c
}
