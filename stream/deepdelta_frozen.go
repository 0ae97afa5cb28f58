package stream

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/stream/linear"
)

// Writers lists the tables, the heads and, for reads that look at earlier positions, what each read
// gets from those positions. As with attention's heads, what comes from other tokens is a separate
// term, which only that read gets and which is not split further.
func (s *deepDelta) Writers() []Writer {
	writers := s.Vector.Writers()
	if !s.carries() {
		return writers
	}
	for _, name := range append(siteNames(s.c.AllSites()), compressName) {
		name += earlierSuffix
		writers = append(writers, Writer{Name: name, Parts: 1, Activation: name, Reads: s.c.D, Source: name})
	}
	return writers
}

// Output names the last read or, with one row, the stream after the last feed-forward.
func (s *deepDelta) Output() string {
	if s.config.Dv > 1 {
		return compressName + ".read"
	}
	return s.Vector.Output()
}

// Carry describes dv rows and, if reads look at earlier positions, another row for what the next
// read gets from them. With a site's beta, v and |y| frozen, the site erases by I - beta k k^T and
// writes to row c beta v[c] / |y| times its output. Without a run nothing is erased, and sites
// write to every row with the factor 1.
func (s *deepDelta) Carry(f *Frozen) {
	s.CarrySites(f, s.toRows(s.all), func(at Site) {
		f.Read(at.Name(), s.carryRead(f, at.Block, at.Name()), s.After(at))
		s.carryWrite(f, at)
	})
	s.CarryEnd(f, s.carryRead(f, s.c.Layers, compressName))
}

// rows returns the number of rows of the frozen state.
func (s *deepDelta) rows() int { return s.config.Dv + int(indicator(s.carries())) }

// toRows returns the map that writes to row c with the factor at(token, c).
func (s *deepDelta) toRows(at func(token, c int) float64) linear.Map {
	return linear.Mix{In: 1, Out: s.rows(), Width: s.c.D, At: func(t, c, _ int) float64 { return at(t, c) }}
}

// all returns 1 for each of the dv rows, and 0 for the row beyond them.
func (s *deepDelta) all(_, c int) float64 { return indicator(c < s.config.Dv) }

// carryRead writes what a read gets from earlier positions, and returns the map by which it reads
// the state.
func (s *deepDelta) carryRead(f *Frozen, block int, name string) linear.Map {
	if s.carries() {
		f.Write(name+earlierSuffix, s.toRows(func(_, c int) float64 { return indicator(c == s.config.Dv) }))
	}
	if len(s.reads) == 0 {
		return linear.Identity(s.c.D)
	}
	read := s.reads[block]
	r := s.values(read.rows)
	if read.filter == nil {
		return linear.Rows(s.c.D, r)
	}
	size := s.config.Dv * s.c.D
	weights := s.values(read.filter)[(s.config.Conv-1)*size:] // for the token's own position
	for c, factor := range r {
		floats.Scale(factor, weights[c*s.c.D:][:s.c.D])
	}
	weights = append(weights, slices.Repeat([]float64{1}, s.rows()*s.c.D-size)...)
	return linear.Chain{linear.Scale{Factors: weights, Size: len(weights)}, linear.Rows(s.c.D, slices.Repeat([]float64{1}, s.rows()))}
}

// carryWrite adds a step that erases and drops what was read from earlier positions, and a write.
func (s *deepDelta) carryWrite(f *Frozen, at Site) {
	d, dv := s.c.D, s.config.Dv
	erase, up := linear.Erase{Width: d, Rows: s.rows(), Kept: dv}, s.all
	keys, betas, written := slices.Clone(f.Recorded(at.Name()+".write", d)), slices.Clone(f.Recorded(at.Name()+gateSuffix, 1)),
		slices.Clone(f.Recorded(at.Name()+valuesSuffix, dv))
	for t := range written[:len(written)/dv] {
		k := keys[t*d:][:d]
		inverse := 1 / math.Sqrt(floats.Dot(k, k)+s.config.KEps*s.config.KEps)
		floats.Scale(inverse, k)
		betas[t] *= 2
		floats.Scale(betas[t]*s.config.VScale*inverse, written[t*dv:][:dv])
	}
	if written != nil {
		erase.Keys, erase.Factors = keys, betas
		up = func(t, c int) float64 {
			if c >= dv {
				return 0
			}
			return written[t*dv+c]
		}
	}
	f.Step(erase)
	f.Write(at.Name(), s.toRows(up))
}
