package stream

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/stream/linear"
)

// Writers are the tables, the heads and, where reads look at earlier positions, what each has from
// them: as with attention's heads, what comes from other tokens is a term of its own, which one read
// alone gets. It is not taken apart further.
func (s *deepDelta) Writers() []Writer {
	writers := s.tables.writers()
	earlier := func(name string) {
		if s.carries() {
			name += earlierSuffix
			writers = append(writers, Writer{Name: name, Parts: 1, Activation: name, Reads: s.c.D, Source: name})
		}
	}
	for l := range s.attention {
		sites := s.Sites(l)
		earlier(sites[0].Name())
		writers = append(writers, s.attention[l].writer(sites[0]))
		earlier(sites[1].Name())
	}
	earlier(compressName)
	return writers
}

// Output is the last read, or with one row the stream after the last feed-forward.
func (s *deepDelta) Output() string {
	if s.c.Dv > 1 {
		return compressName + ".read"
	}
	return lastSite(s.c.Layers).Name() + ".stream"
}

// FreezeHooks are what all sites write, and their gates and values.
func (s *deepDelta) FreezeHooks() []string {
	var names []string
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			names = append(names, site.Name()+".write", site.Name()+gateSuffix, site.Name()+valuesSuffix)
		}
	}
	return names
}

// Static is of a plain residual in each row: nothing is erased, and what sites write enters every
// row as it is. Reads are those of a token's own position.
func (s *deepDelta) Static() *Frozen {
	f, _ := s.Freeze(nil) // wants no activations, and fails by them alone
	return f
}

// Freeze carries dv rows and, where reads look at earlier positions, one more: what the next read
// has from those. With a site's beta, v and |y| frozen, it erases by I - beta k k^T, and what it
// writes enters each row, beta v[c] / |y| times.
func (s *deepDelta) Freeze(r Record) (*Frozen, error) {
	f := NewFrozen(r, s.c.D)
	f.writeTables(s.tables, s.toAll())
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			after := thenNorm(s.b, s.features[l])
			if site.Sublayer == Attention {
				after = s.attention[l].after
			}
			f.Read(site.Name(), s.freezeRead(f, l, site.Name()), after)
			if err := s.freezeWrite(f, r, site); err != nil {
				return nil, err
			}
		}
	}
	f.Step(s.freezeRead(f, s.c.Layers, compressName))
	f.ReadOut(linear.Identity(s.c.D), thenNorm(s.b, s.norm))
	return f, nil
}

// rows is how many the frozen state has.
func (s *deepDelta) rows() int {
	if s.carries() {
		return s.c.Dv + 1
	}
	return s.c.Dv
}

// toRows writes to row c times at(token, c).
func (s *deepDelta) toRows(at func(token, c int) float64) linear.Map {
	return linear.Mix{In: 1, Out: s.rows(), Width: s.c.D, At: func(t, c, _ int) float64 { return at(t, c) }}
}

// toAll writes to the dv rows alike.
func (s *deepDelta) toAll() linear.Map {
	return s.toRows(func(_, c int) float64 { return indicator(c < s.c.Dv) })
}

// freezeRead writes what a read has from earlier positions, and returns the map by which it reads
// the state.
func (s *deepDelta) freezeRead(f *Frozen, block int, name string) linear.Map {
	if s.carries() {
		f.Write(name+earlierSuffix, s.toRows(func(_, c int) float64 { return indicator(c == s.c.Dv) }))
	}
	if len(s.reads) == 0 {
		return linear.Identity(s.c.D)
	}
	read := s.reads[block]
	r := values(s.b, read.rows.Name())
	if read.filter == nil {
		return linear.Rows(s.c.D, r)
	}
	size := s.c.Dv * s.c.D
	weights := values(s.b, read.filter.Name())[(s.c.Conv-1)*size:] // of the token's own position
	for c, factor := range r {
		floats.Scale(factor, weights[c*s.c.D:][:s.c.D])
	}
	weights = append(weights, slices.Repeat([]float64{1}, s.rows()*s.c.D-size)...)
	return linear.Chain{linear.Scale{Factors: weights, Size: len(weights)}, linear.Rows(s.c.D, slices.Repeat([]float64{1}, s.rows()))}
}

// freezeWrite is a step that erases, and drops what was read from earlier positions, and a write.
func (s *deepDelta) freezeWrite(f *Frozen, r Record, site Site) error {
	d, dv := s.c.D, s.c.Dv
	if r == nil {
		f.Step(linear.Erase{Width: d, Rows: s.rows(), Kept: dv})
		f.Write(site.Name(), s.toAll())
		return nil
	}
	var of [3][]float64 // y [T, D], gates [T], values [T, dv]
	for i, name := range []string{".write", gateSuffix, valuesSuffix} {
		var err error
		if of[i], err = r.Activation(site.Name() + name); err != nil {
			return err
		}
	}
	keys, betas, written := slices.Clone(of[0]), slices.Clone(of[1]), slices.Clone(of[2])
	for t := range betas {
		k := keys[t*d:][:d]
		inverse := 1 / math.Sqrt(floats.Dot(k, k)+s.c.KEps*s.c.KEps)
		floats.Scale(inverse, k)
		betas[t] *= 2
		floats.Scale(betas[t]*s.c.VScale*inverse, written[t*dv:][:dv])
	}
	f.Step(linear.Erase{Keys: keys, Factors: betas, Width: d, Rows: s.rows(), Kept: dv})
	f.Write(site.Name(), s.toRows(func(t, c int) float64 {
		if c >= dv {
			return 0
		}
		return written[t*dv+c]
	}))
	return nil
}
