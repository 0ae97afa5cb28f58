package stream

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/stream/linear"
)

// writers are the heads.
func (s *multi) writers() []Writer {
	var writers []Writer
	for l := range s.attention {
		writers = append(writers, s.attention[l].writer(s.Sites(l)[0]))
	}
	return writers
}

// Output is the rows after the last feed-forward.
func (s *multi) Output() string { return lastSite(s.c.Layers).Name() + ".stream" }

// FreezeHooks are the coefficients of all sites.
func (s *multi) FreezeHooks() []string {
	var names []string
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			names = append(names, site.Name()+".coefficients")
		}
	}
	return names
}

// freezeSites adds a step a site: the rows are mixed by A_carry, and what is written after
// that goes to the rows by B_up.
func (s *multi) freezeSites(f *Frozen, r Record, p packing) error {
	for l := range s.c.Layers {
		for _, site := range s.Sites(l) {
			c, err := frozenCoefficients(r, site, p)
			if err != nil {
				return err
			}
			after := thenNorm(s.b, s.features[l])
			if site.Sublayer == Attention {
				after = s.attention[l].after
			}
			d := s.c.D / p.m
			f.Read(site.Name(), linear.Mix{In: p.n, Out: p.m, Width: d, At: func(t, i, j int) float64 { return c(t, j, i) }}, after)
			f.Step(linear.Mix{In: p.n, Out: p.n, Width: d, At: func(t, i, j int) float64 { return c(t, j, p.m+i) }})
			f.Write(site.Name(), linear.Mix{In: p.m, Out: p.n, Width: d, At: func(t, i, j int) float64 { return c(t, i, p.m+p.n+j) }})
		}
	}
	return nil
}

// frozenCoefficients are a site's packed coefficients by token, row and column: one set for
// all tokens, or one each; without a run those of a plain residual.
func frozenCoefficients(r Record, site Site, p packing) (func(token, row, column int) float64, error) {
	if r == nil {
		plain := p.plain()
		return func(_, row, column int) float64 { return plain[row*p.columns()+column] }, nil
	}
	name, size := site.Name()+".coefficients", p.n*p.columns()
	values, err := r.Activation(name)
	if err != nil {
		return nil, err
	}
	stride := size
	switch len(values) {
	case r.Tokens() * size:
	case size:
		stride = 0
	default:
		return nil, errors.Errorf("stream: %s: want %d entries, or as many for each of %d tokens, got %d", name, size, r.Tokens(), len(values))
	}
	return func(token, row, column int) float64 { return values[token*stride+row*p.columns()+column] }, nil
}

// Writers are the tables and the heads.
func (s *copied) Writers() []Writer { return append(s.tables.writers(), s.multi.writers()...) }

// Static is of rows that are alike, as those of a plain residual are: a site reads one and
// writes to all, and the last norm takes their sum for one.
func (s *copied) Static() *Frozen {
	f, _ := s.Freeze(nil) // wants no activations, and fails by them alone
	f.ReadOut(linear.Rows(s.c.D, slices.Repeat([]float64{1 / float64(s.n)}, s.n)), thenNorm(s.multi.b, s.norm))
	return f
}

// Freeze is products of A_res from every site to the end.
func (s *copied) Freeze(r Record) (*Frozen, error) {
	f := NewFrozen(r, s.n*s.c.D)
	rows := linear.Mix{In: 1, Out: s.n, Width: s.c.D, At: func(_, _, _ int) float64 { return 1 }}
	f.writeTables(s.tables, rows)
	if err := s.freezeSites(f, r, packing{s.n, 1}); err != nil {
		return nil, err
	}
	f.ReadOut(linear.Transposed{Of: rows}, thenNorm(s.multi.b, s.norm))
	return f, nil
}

// Writers are the tables and the heads.
func (v *vwn) Writers() []Writer { return append(v.tables.writers(), v.multi.writers()...) }

// Static is of a plain residual in the first m slots, whose slot i the others have, too, where
// i is their number mod m.
func (v *vwn) Static() *Frozen {
	f, _ := v.Freeze(nil) // wants no activations, and fails by them alone
	return f
}

// Freeze is products of A_carry from every site to the end.
func (v *vwn) Freeze(r Record) (*Frozen, error) {
	f := NewFrozen(r, v.n*v.d)
	var embed linear.Map = linear.Identity(f.size)
	if v.expand != nil {
		embed = linear.Matrix{W: values(v.multi.b, v.expand.Name()), In: v.c.D, Out: f.size}
	}
	f.writeTables(v.tables, embed)
	if err := v.freezeSites(f, r, packing{v.n, v.m}); err != nil {
		return nil, err
	}
	f.ReadOut(linear.Identity(f.size), v.after)
	return f, nil
}

// after freezes the group norm, W_reduce and the final norm at the ends [T, n*d].
func (v *vwn) after(end []float64) (linear.Chain, []float64) {
	b := v.multi.b
	reduce := linear.Matrix{W: values(b, v.reduce.Name()), In: v.n * v.d, Out: v.c.D}
	maps := linear.Chain{reduce}
	if v.groupNorm != nil {
		norm := linear.Norm{Gain: values(b, v.groupNorm.Name()), Centre: true, Groups: v.groupNorm.Shape()[0]}
		maps = linear.Chain{norm.At(end, orEps(v.c.Norm.Eps)), reduce}
	}
	norm, bias := freezeNorm(b, v.norm, maps.ApplyAll(end)) // [T, D]
	return append(maps, norm), bias
}
